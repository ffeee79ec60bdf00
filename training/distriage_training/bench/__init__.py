"""`distriage bench`: the cost of a verdict, part by part and beside other ways to run the same encoder."""
