"""Questions of maintainers to authors, and the threads in which they answer."""
