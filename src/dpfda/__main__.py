"""Run the command as `python -m dpfda`."""

from dpfda.cli import main

if __name__ == "__main__":
    main()
