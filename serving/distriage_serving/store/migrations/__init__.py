"""How the tables of a database are brought up to date."""
