"""What may a returning agent still act on?"""
