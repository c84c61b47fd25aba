# A released mean as an object of the package fda, for its tools: derivatives, registration, plots.
library(dpfda)

release <- read_release(system.file("extdata", "mean.json", package = "dpfda"))
points <- as.data.frame(release)
if (requireNamespace("fda", quietly = TRUE)) {
  domain <- c(release$axes$lower, release$axes$upper)
  basis <- fda::create.bspline.basis(domain, nbasis = 25)
  curve <- fda::smooth.basis(points$point, points$value, basis)$fd
  slope <- fda::eval.fd(points$point, curve, Lfdobj = 1)
  plot(points$point, slope, type = "l", xlab = release$axes$label, ylab = "change of the mean")
}
