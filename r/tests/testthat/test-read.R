file_of <- function(name) system.file("extdata", paste0(name, ".json"), package = "dpfda")
names_of_files <- c("answers", "classes", "comparison", "density", "image", "mean", "quantiles",
                    "regression")
readings <- jsonlite::read_json("readings.json", simplifyVector = TRUE)

test_that("every file is read, and says what Python says of it", {
  expect_setequal(names(readings), names_of_files)
  for (name in names_of_files) {
    release <- read_release(file_of(name))
    expected <- readings[[name]]
    expect_s3_class(release, "dpfda_release")
    expect_identical(release$guarantee$words, expected$guarantee)
    at <- expected$points
    expect_equal(predict(release, at), expected$fit, tolerance = 1e-13)
    if (is.null(expected$band)) {
      expect_error(confint(release), "has no band in its file")
      expect_error(predict(release, at, interval = "band"), "has no band around")
    } else {
      found <- predict(release, at, interval = "band")
      expect_equal(found[, "fit"], expected$fit, tolerance = 1e-13)
      expect_equal(unname(found[, c("lwr", "upr")]), cbind(expected$band$lower, expected$band$upper),
                   tolerance = 1e-13)
      expect_equal(unname(confint(release, at)), unname(found[, c("lwr", "upr")]), ignore_attr = TRUE)
    }
  }
})

test_that("a release is a data frame with units", {
  release <- read_release(file_of("mean"))
  frame <- as.data.frame(release)
  expect_named(frame, c("point", "value", "lower", "upper"))
  expect_identical(attr(frame$point, "label"), "hour of the day")
  expect_identical(attr(frame$value, "label"), "load (MW)")
  expect_true(all(frame$lower <= frame$value & frame$value <= frame$upper))
  expect_equal(predict(release), as.numeric(frame$value))
  expect_equal(predict(release, frame$point), as.numeric(frame$value))
  groups <- as.data.frame(read_release(file_of("comparison")))
  expect_named(groups, c("point", "mean case", "mean control", "case minus control", "lower", "upper"))
  expect_equal(groups[["mean case"]] - groups[["mean control"]], groups[["case minus control"]],
               ignore_attr = TRUE)
})

test_that("columns are chosen by name", {
  release <- read_release(file_of("comparison"))
  frame <- as.data.frame(release)
  expect_equal(predict(release), as.numeric(frame[["case minus control"]]))
  expect_equal(predict(release, column = "mean case"), as.numeric(frame[["mean case"]]))
  expect_error(predict(release, column = "mean case", interval = "band"), "no band around 'mean case'")
  expect_error(predict(release, column = "x"), "must be one of 'mean case', 'mean control'")
})

test_that("a classifier has a column for each class, and the largest decides", {
  release <- read_release(file_of("classes"))
  classes <- paste("class", c("low", "middle", "high"))
  expect_named(as.data.frame(release), c("point", classes))
  scores <- sapply(classes, function(name) predict(release, c(0.1, 0.5, 0.9), column = name))
  expect_identical(classes[max.col(scores)], classes)
})

test_that("values lie on lines between points, and stop at the ends of the domain", {
  release <- read_release(file_of("mean"))
  frame <- as.data.frame(release)
  middle <- mean(frame$point[1:2])
  expect_equal(predict(release, middle), mean(frame$value[1:2]))
  expect_error(predict(release, 2.5), "must lie in the domain, 0 to 2")
  expect_error(predict(release, NA_real_), "must be numbers, with 1 coordinate")
  expect_error(predict(release, cbind(1, 2)), "must be numbers, with 1 coordinate")
  image <- read_release(file_of("image"))
  expect_equal(predict(image, c(0, 0)), predict(image, data.frame(1, 1) / 16))
  expect_error(predict(image, 0.5), "with 2 coordinate")
})

test_that("nothing is invented where the domain has no ends", {
  release <- read_release(file_of("regression"))
  ends <- range(as.data.frame(release)$point)
  expect_false(anyNA(predict(release, ends)))
  expect_warning(found <- predict(release, ends + c(-1, 1)), "not known")
  expect_true(all(is.na(found)))
})

test_that("answers are single points", {
  release <- read_release(file_of("answers"))
  expect_error(predict(release, 1.5), "must be among those of the file: 1, 2")
  expect_match(attr(confint(release), "band"), "each point by itself")
})

test_that("quantiles are values at levels, and nothing between them", {
  release <- read_release(file_of("quantiles"))
  expect_equal(as.data.frame(release)$level, c(0.25, 0.5, 0.75), ignore_attr = TRUE)
  expect_equal(predict(release), as.numeric(as.data.frame(release)$value))
  expect_error(predict(release, 0.4), "must be among those of the file: 0.25, 0.5, 0.75")
})

test_that("the band has the level of the file", {
  release <- read_release(file_of("mean"))
  expect_equal(confint(release, level = 0.95), confint(release))
  expect_error(confint(release, level = 0.9), "level 0.95; make others in Python")
  expect_match(attr(confint(release), "band"), "everywhere at once")
})

test_that("it is printed in words", {
  told <- paste(capture.output(print(read_release(file_of("mean")))), collapse = " ")
  expect_match(told, "each home is protected")
  expect_match(told, "1-differential privacy (pure)", fixed = TRUE)
  expect_match(told, "differ in one home")
  expect_match(told, "values clipped to [-3, 3]", fixed = TRUE)
  expect_match(told, "everywhere at once")
  expect_match(told, "value, load (MW)", fixed = TRUE)
  expect_match(paste(capture.output(summary(read_release(file_of("mean")))), collapse = " "), "To cite: The mean")
})

test_that("every release of one or two variables is drawn", {
  for (name in names_of_files) {
    picture <- tempfile(fileext = ".pdf")
    grDevices::pdf(picture)
    expect_s3_class(plot(read_release(file_of(name))), "dpfda_release")
    grDevices::dev.off()
    expect_gt(file.size(picture), 2000)
  }
})

test_that("other files are refused in words", {
  path <- tempfile(fileext = ".json")
  expect_error(read_release(path), "there is no file")
  expect_error(read_release(1), "must be one file name")
  writeLines("{", path)
  expect_error(read_release(path), "is not a JSON file")
  writeLines("{\"a\": 1}", path)
  expect_error(read_release(path), "is not a file of a dpfda release")
  writeLines("{\"format\": \"dpfda-release\", \"schema_version\": 1}", path)
  expect_error(read_release(path), "load and save it again in Python")
  writeLines("{\"format\": \"dpfda-release\", \"schema_version\": 3}", path)
  expect_error(read_release(path), "later than this package knows")
  written <- jsonlite::read_json(file_of("mean"))
  written$table$columns[[1]]$values <- written$table$columns[[1]]$values[-1]
  jsonlite::write_json(written, path, auto_unbox = TRUE, null = "null", digits = NA)
  expect_error(read_release(path), "different lengths")
})

test_that("a table without columns is read and said to be none", {
  written <- jsonlite::read_json(file_of("mean"))
  written$table$columns <- list()
  written$table["band"] <- list(NULL)
  path <- tempfile(fileext = ".json")
  jsonlite::write_json(written, path, auto_unbox = TRUE, null = "null", digits = NA)
  expect_error(as.data.frame(read_release(path)), "too many variables for a table")
})

test_that("words in a file move no cursor", {
  written <- jsonlite::read_json(file_of("mean"))
  written$words$title <- "mean\u001b[2J\u202e of 5"
  path <- tempfile(fileext = ".json")
  jsonlite::write_json(written, path, auto_unbox = TRUE, digits = NA, null = "null")
  release <- read_release(path)
  expect_identical(release$words$title, "mean\ufffd[2J\ufffd of 5")
  expect_equal(as.data.frame(release)$value, as.data.frame(read_release(file_of("mean")))$value)
})
