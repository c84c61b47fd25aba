"""Run the command as `python -m dpfda`."""

from dpfda.front.command import main

if __name__ == "__main__":
    main()
