# Pictures: a curve with its band, single answers with theirs, an image.

#' Draw a release
#'
#' A function of one variable is drawn as a line with its band, answers of a session as points with theirs,
#' a function of two variables as an image with lines of equal height. Titles say who is protected, axes
#' what they are, with units.
#'
#' @param x A release, from [read_release()].
#' @param column Name of the column of an image, where there are several; see [predict.dpfda_release()].
#' @param main,sub,xlab,ylab Words; by default those of the file.
#' @param ... Further arguments of [graphics::plot.default()] or [graphics::image()].
#' @return The release, invisibly.
#' @examples
#' release <- read_release(system.file("extdata", "mean.json", package = "dpfda"))
#' plot(release)
#' @export
plot.dpfda_release <- function(x, column = NULL, main = NULL, sub = NULL, xlab = NULL, ylab = NULL, ...) {
  check_tabulated(x)
  if (nrow(x$axes) > 2) {
    stop("functions of more than two variables cannot be drawn; draw predict() along a line", call. = FALSE)
  }
  said <- list(
    main = if (is.null(main)) broken(x$words$title) else main,
    sub = if (is.null(sub)) x$words$promise else sub,
    xlab = if (is.null(xlab)) x$axes$label[1] else xlab
  )
  old <- graphics::par(cex.main = 1, font.main = 1, cex.sub = 0.8)
  on.exit(graphics::par(old))
  if (nrow(x$axes) == 2) {
    draw_image(x, chosen_column(x, column), said, if (is.null(ylab)) x$axes$label[2] else ylab, ...)
  } else {
    draw_lines(x, said, ylab, ...)
  }
  invisible(x)
}

draw_lines <- function(x, said, ylab, ...) {
  names <- named(x, "value")
  labels <- x$columns$label[x$columns$role == "value"]
  # Columns of other units than the first, such as a cumulative share, are left to as.data.frame().
  drawn <- names[startsWith(labels, labels[1]) | names %in% x$band$around]
  at <- as.numeric(x$table[[x$axes$name]])
  banded <- !is.null(x$band)
  shown <- c(drawn, if (banded) c("lower", "upper"))
  limits <- range(unlist(x$table[shown]), na.rm = TRUE)
  # Room for the legend.
  limits[2] <- limits[2] + (0.08 + 0.06 * length(drawn)) * diff(limits)
  single <- x$between == "nothing"
  words <- c(list(at, at, type = "n", ylim = limits, ylab = if (is.null(ylab)) labels[1] else ylab), said)
  # Each answer has its number below it, each quantile its level.
  beside <- if (length(at) > 1) min(diff(sort(at))) / 2 else 0.5
  if (single) words <- c(words, list(xaxt = "n", xlim = range(at) + c(-beside, beside)))
  do.call(graphics::plot, with_own(words, list(...)))
  if (single) graphics::axis(1, at = at)
  colours <- grDevices::hcl.colors(max(3, length(drawn)), "Dark 3")[seq_along(drawn)]
  if (banded) {
    draw_band(at, x$table$lower, x$table$upper, colours[match(x$band$around, drawn)], single)
  }
  for (i in seq_along(drawn)) {
    graphics::lines(at, x$table[[drawn[i]]], col = colours[i], lwd = 2, type = if (single) "p" else "l", pch = 19)
  }
  entries <- c(drawn, if (banded) x$band$words)
  tints <- c(colours, if (banded) tint(colours[match(x$band$around, drawn)]))
  thick <- c(rep(2, length(drawn)), if (banded) 8)
  graphics::legend("topright", entries, col = tints, lwd = thick, bty = "n", cex = 0.85)
}

draw_band <- function(at, lower, upper, colour, single) {
  if (single) {
    graphics::segments(at, lower, at, upper, col = tint(colour), lwd = 8, lend = 1)
  } else {
    graphics::polygon(c(at, rev(at)), c(lower, rev(upper)), col = tint(colour), border = NA)
  }
}

draw_image <- function(x, name, said, ylab, ...) {
  nodes <- lapply(x$axes$name, function(axis) sort(unique(as.numeric(x$table[[axis]]))))
  values <- grid_of(x, name, nodes)
  label <- x$columns$label[x$columns$name == name]
  said$main <- paste0(said$main, "\n", label)
  words <- c(list(nodes[[1]], nodes[[2]], values, ylab = ylab, col = grDevices::hcl.colors(64, "viridis")), said)
  do.call(graphics::image, with_own(words, list(...)))
  if (min(values, na.rm = TRUE) < max(values, na.rm = TRUE)) {
    graphics::contour(nodes[[1]], nodes[[2]], values, add = TRUE, col = "white", labcex = 0.9)
  }
}

tint <- function(colour) grDevices::adjustcolor(colour, alpha.f = 0.3)

broken <- function(text) paste(strwrap(text, 60), collapse = "\n")

# What the caller says takes the place of what the file says.
with_own <- function(words, said) {
  for (name in names(said)) words[[name]] <- said[[name]]
  words
}
