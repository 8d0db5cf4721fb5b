"""SmallDB (Algorithm 1 of the paper, corrected): m records drawn so that they answer many questions like the data."""
