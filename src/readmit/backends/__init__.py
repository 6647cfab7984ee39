"""Memory stores behind one port, and the handle through which a returned agent reads and writes them."""
