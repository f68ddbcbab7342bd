"""A braid server and a real Linux NFS client on a private wire: host.py is beside the server, client.py in the client."""
