"""The error of accelerations: loss of digits, certificates and their corrections."""
