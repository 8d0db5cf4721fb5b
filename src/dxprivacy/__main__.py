"""`python -m dxprivacy` is `dxp`."""

from dxprivacy.start import main

if __name__ == "__main__":
    main()
