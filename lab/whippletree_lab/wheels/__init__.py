"""What a user waits for at first, and wheels that carry compiled kernels so that it is not the compiler."""
