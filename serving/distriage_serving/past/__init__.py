"""The past issues of the repositories that the server knows, for queue, bot and HTTP."""
