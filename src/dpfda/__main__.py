"""Run the command as `python -m dpfda`."""

from dpfda.front import main

if __name__ == "__main__":
    main()
