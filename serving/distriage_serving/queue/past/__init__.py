"""The past issues that are nearest to one: a part of its page, made when it is opened."""
