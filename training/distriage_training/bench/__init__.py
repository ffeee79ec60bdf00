"""`distriage bench`: what a verdict costs, part by part and beside other ways to run the same encoder."""
