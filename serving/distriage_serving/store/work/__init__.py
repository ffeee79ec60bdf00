"""What is to be done: deliveries and jobs, who works on which, and how fast GitHub may be written to."""
