"""A verdict beside other ways to run the same encoder, and the page of all figures."""
