"""`python -m distriage`, which torchrun needs."""

from distriage.commands.main import main

main()
