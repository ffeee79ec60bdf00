"""The ground floor: errors, values, files, terminal. Every room may import it."""
