"""Work to do: deliveries and jobs, their workers, the pace of writes to GitHub, the cost of the second reader."""
