# Values between the points of a table, and the band.

#' Values of a release at points
#'
#' Between the points of its file the function is taken to be linear in each variable; beyond the first and
#' the last point, but inside the domain, constant. The file has a point wherever the records had one (large
#' grids are thinned); `release(t)` in Python gives the function itself.
#'
#' @param object A release, from [read_release()].
#' @param newdata Points: a numeric vector where the function has one variable, else a matrix or data frame
#'   with one column for each variable, in their order. By default the points of the file.
#' @param interval `"band"` for the ends of the band too.
#' @param column Name of the column of values, where there are several. By default the one that the band is
#'   around, or else the first.
#' @param ... Not used.
#' @return Values at the points; with `interval = "band"` a matrix with columns `fit`, `lwr` and `upr`.
#'   `NA` where a function without limits is asked for beyond the points of its file, with a warning.
#' @examples
#' release <- read_release(system.file("extdata", "mean.json", package = "dpfda"))
#' predict(release, c(0.25, 1.5))
#' predict(release, c(0.25, 1.5), interval = "band")
#' @export
predict.dpfda_release <- function(object, newdata = NULL, interval = c("none", "band"), column = NULL, ...) {
  interval <- match.arg(interval)
  check_tabulated(object)
  column <- chosen_column(object, column)
  names <- column
  if (interval == "band") {
    if (is.null(object$band) || column != object$band$around) {
      stop("this release has no band around ", sQuote(column, FALSE), call. = FALSE)
    }
    names <- c(column, "lower", "upper")
  }
  at <- if (is.null(newdata)) coordinates(object) else read_points(object, newdata)
  values <- vapply(names, function(name) interpolated(object, name, at), numeric(nrow(at)))
  if (interval == "none") {
    return(as.vector(values))
  }
  matrix(values, ncol = 3, dimnames = list(NULL, c("fit", "lwr", "upr")))
}

#' The band of a release
#'
#' What the band holds, and whether it does so everywhere at once, is said by `print(object)`. It is about
#' the noise that protects privacy, not about clipping, nor about a wider population.
#'
#' @param object A release, from [read_release()].
#' @param parm Points, as `newdata` of [predict.dpfda_release()]; by default those of the file.
#' @param level Probability of the band; the one that the file holds.
#' @param ... Not used.
#' @return A matrix with columns `lower` and `upper`, a row for each point, and the words on the band as
#'   attribute `band`.
#' @examples
#' release <- read_release(system.file("extdata", "mean.json", package = "dpfda"))
#' head(confint(release))
#' @export
confint.dpfda_release <- function(object, parm = NULL, level = NULL, ...) {
  if (is.null(object$band)) {
    stop("this release has no band in its file", call. = FALSE)
  }
  if (!is.null(level) && !isTRUE(all.equal(level, object$band$level))) {
    stop("the file holds the band of level ", object$band$level, "; make others in Python: ",
         "dpfda eval --level", call. = FALSE)
  }
  ends <- stats::predict(object, parm, interval = "band")[, c("lwr", "upr"), drop = FALSE]
  colnames(ends) <- c("lower", "upper")
  structure(ends, band = band_words(object))
}

chosen_column <- function(x, column) {
  known <- named(x, "value")
  if (is.null(column)) {
    return(if (is.null(x$band)) known[1] else x$band$around)
  }
  if (!column %in% known) {
    stop("`column` must be one of ", paste(sQuote(known, FALSE), collapse = ", "), call. = FALSE)
  }
  column
}

coordinates <- function(x) as.matrix(x$table[x$axes$name])

# Points (q, c) of the domain.
read_points <- function(x, newdata) {
  count <- nrow(x$axes)
  at <- if (is.data.frame(newdata)) as.matrix(newdata) else newdata
  at <- if (is.matrix(at)) at else matrix(at, ncol = if (count == 1) 1 else length(at))
  if (!is.numeric(at) || anyNA(at) || ncol(at) != count) {
    stop("points must be numbers, with ", count, " coordinate(s) each", call. = FALSE)
  }
  for (axis in seq_len(count)) {
    ends <- c(x$axes$lower[axis], x$axes$upper[axis])
    if (any(at[, axis] < ends[1] | at[, axis] > ends[2], na.rm = TRUE)) {
      stop("points must lie in the domain, ", ends[1], " to ", ends[2], call. = FALSE)
    }
  }
  unname(at)
}

# Values of a column at points (q, c): linear in each variable between the points of a grid.
interpolated <- function(x, name, at) {
  if (x$between == "nothing") {
    return(x$table[[name]][exact_rows(x, at)])
  }
  nodes <- lapply(x$axes$name, function(axis) sort(unique(as.numeric(x$table[[axis]]))))
  grid <- grid_of(x, name, nodes)
  weights <- Map(function(points, places) corners(points, places), nodes, asplit(at, 2))
  total <- numeric(nrow(at))
  # All corners of the cell that a point lies in, each with the product of its weights.
  sides <- as.matrix(expand.grid(rep(list(1:2), length(nodes))))
  for (corner in seq_len(nrow(sides))) {
    chosen <- Map(function(axis, side) axis[[side]], weights, sides[corner, ])
    where <- do.call(cbind, lapply(chosen, function(axis) axis$index))
    total <- total + grid[where] * Reduce(`*`, lapply(chosen, function(axis) axis$weight))
  }
  beyond(x, at, nodes, total)
}

# The two nodes of an axis around each place, and their weights.
corners <- function(points, places) {
  inside <- pmin(pmax(as.numeric(places), points[1]), points[length(points)])
  if (length(points) == 1) {
    index <- rep(1L, length(inside))
    return(list(list(index = index, weight = 1), list(index = index, weight = 0)))
  }
  left <- findInterval(inside, points, rightmost.closed = TRUE, all.inside = TRUE)
  share <- (inside - points[left]) / (points[left + 1] - points[left])
  list(list(index = left, weight = 1 - share), list(index = left + 1L, weight = share))
}

# The column as an array over all combinations of nodes.
grid_of <- function(x, name, nodes) {
  grid <- array(NA_real_, lengths(nodes))
  where <- mapply(function(axis, points) match(x$table[[axis]], points), x$axes$name, nodes)
  grid[matrix(where, ncol = length(nodes))] <- x$table[[name]]
  grid
}

# Without limits of the domain nothing is known beyond the points.
beyond <- function(x, at, nodes, values) {
  for (axis in which(is.na(x$axes$lower) | is.na(x$axes$upper))) {
    outside <- at[, axis] < min(nodes[[axis]]) | at[, axis] > max(nodes[[axis]])
    if (any(outside)) {
      warning("values beyond the points of the file are not known", call. = FALSE)
      values[outside] <- NA
    }
  }
  values
}

exact_rows <- function(x, at) {
  found <- match(at[, 1], x$table[[x$axes$name]])
  if (anyNA(found)) {
    stop("points must be among those of the file: ", paste(x$table[[x$axes$name]], collapse = ", "),
         call. = FALSE)
  }
  found
}
