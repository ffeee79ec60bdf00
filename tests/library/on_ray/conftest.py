from support.ray_node import node  # noqa: F401  # fixture
