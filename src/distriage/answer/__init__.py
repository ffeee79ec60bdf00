"""From what is known of a report to what is said of it."""
