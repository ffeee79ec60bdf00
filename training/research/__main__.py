"""`python training/research COMMAND`: experiments of a checkout, not part of the wheel."""

from distriage_research.commands import main

if __name__ == "__main__":
    main()
