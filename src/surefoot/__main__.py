"""`python -m surefoot`, where the command itself is not on the path."""

from surefoot.cli.main import main

if __name__ == "__main__":
    main()
