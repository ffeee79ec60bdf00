"""`python -m distriage`, which torchrun needs."""

from distriage.cli import main

main()
