"""Work to do: deliveries and jobs, their workers, and the pace of writes to GitHub."""
