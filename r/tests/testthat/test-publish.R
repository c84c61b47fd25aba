command <- getOption("dpfda.command", Sys.getenv("DPFDA_COMMAND", unset = Sys.which("dpfda")))
with_command <- function() skip_if_not(nzchar(command) && file.exists(command), "the command dpfda is not there")

# A new path in a folder of its own.
new_file <- function(name) {
  folder <- tempfile("out")
  dir.create(folder)
  file.path(folder, name)
}

curves <- function(n = 100) {
  made <- as.data.frame(matrix(0.5 + outer(seq_len(n) / (4 * n), sin(0:11)), ncol = 12))
  names(made) <- 0:11
  made
}

test_that("a data frame is published as Python would, and its file is gone", {
  with_command()
  out <- new_file("mean.json")
  before <- list.files(tempdir(), "^dpfda")
  said <- capture.output(
    release <- release_mean(curves(), out, epsilon = 1e6, bounds = c(0, 1), unit = "household", x_label = "hour")
  )
  expect_match(said, "privacy unit: household", all = FALSE)
  expect_identical(release$unit, "household")
  expect_identical(release$axes$label, "hour")
  expect_identical(release$guarantee$epsilon, 1e6)
  # With no noise to speak of it is the mean of these curves.
  expect_equal(predict(release, 0:11), unname(colMeans(curves())), tolerance = 1e-2)
  expect_identical(list.files(tempdir(), "^dpfda"), before)
})

test_that("values are those of Python, at any level", {
  with_command()
  out <- new_file("mean.json")
  # So much epsilon that no band is cut at the bounds.
  capture.output(release <- release_mean(curves(), out, epsilon = 20, bounds = c(0, 1)))
  found <- eval_release(out, c(1, 2.75), level = 0.9)
  expect_named(found, c("point", "value", "lower", "upper"))
  expect_equal(found$value[1], predict(release, 1), tolerance = 1e-3)
  wider <- eval_release(out, c(1, 2.75), level = 0.99)
  expect_true(all(wider$upper - wider$lower > found$upper - found$lower))
  expect_match(attr(found$lower, "label"), "0.9 band")
})

test_that("labels, logical values, dates and missing values arrive", {
  with_command()
  people <- data.frame(
    years = c(2.5, NA, 3:100 / 10), died = rep(c(TRUE, FALSE), 50), arm = factor(rep(c("a", "b"), each = 50))
  )
  out <- new_file("survival.json")
  capture.output(release <- release_survival(
    people, out, time = "years", event = "died", by = "arm:a,b", cause = 1, censored = 0,
    domain = c(0, 10), epsilon = 5, invalid = "repair"
  ))
  expect_s3_class(release, "dpfda_release")
  expect_true(any(grepl("survival a", names(as.data.frame(release)))))
})

test_that("a dry run publishes nothing", {
  with_command()
  out <- new_file("mean.json")
  said <- NULL
  shown <- capture.output(said <- release_mean(curves(), out, epsilon = 1, bounds = c(0, 1), dry_run = TRUE))
  expect_match(said, "nothing is charged, drawn or written")
  expect_false(file.exists(out))
})

test_that("what cannot be published is refused in the command's words", {
  with_command()
  out <- new_file("mean.json")
  expect_error(release_mean(curves(), out, epsilon = "one", bounds = c(0, 1)), "--epsilon must be a finite number")
  expect_error(release_mean(curves(), out, epsilon = 1, bound = c(0, 1)), "bound must be an option of dpfda mean")
  broken <- curves()
  broken[3, 2] <- Inf
  expect_error(release_mean(broken, out, epsilon = 1, bounds = c(0, 1)), "complete and finite")
  writeLines("kept", out)
  expect_error(release_mean(curves(), out, epsilon = 1, bounds = c(0, 1)), "must be a new file")
  expect_identical(readLines(out), "kept")
})

test_that("wrong arguments are refused before the command is called", {
  expect_error(publish(c("mean", "density"), curves(), "x.json"), "must be one word")
  expect_error(publish("mean", curves(), NA_character_), "the path of one new file")
  expect_error(publish("mean", curves(), "x.json", 1), "by their names")
  expect_error(publish("mean", "nowhere.csv", "x.json"), "a data frame, or the path of one file")
  expect_error(eval_release("nowhere.json"), "the file of a release")
  old <- options(dpfda.command = "nowhere")
  on.exit(options(old))
  expect_error(publish("mean", curves(), "x.json", epsilon = 1), "pip install")
})

test_that("numbers and words are written as TOML reads them", {
  expect_identical(unname(toml(list(epsilon = 0.1, bounds = c(-1, 1e6)))), c("epsilon = 0.1", "bounds = [-1, 1000000]"))
  expect_identical(unname(toml(list(x_label = "a \"b\"\n", standardize = TRUE))),
                   c("x-label = \"a \\\"b\\\"\\n\"", "standardize = true"))
  table <- written(data.frame(a = c(0.1, 1 / 3, NA), b = c("x,y", NA, "\u00e4")), tempfile())
  expect_equal(utils::read.csv(table, encoding = "UTF-8")$a, c(0.1, 1 / 3, NA), tolerance = 0)
})

test_that("a release is tidy, and a picture of ggplot2", {
  for (name in c("mean", "comparison", "answers", "image", "quantiles")) {
    release <- read_release(system.file("extdata", paste0(name, ".json"), package = "dpfda"))
    frame <- tidy(release)
    values <- release$columns$name[release$columns$role == "value"]
    expect_identical(nrow(frame), nrow(as.data.frame(release)) * length(values))
    if (!is.null(release$band)) {
      own <- frame[frame$term == release$band$around, ]
      expect_true(all(own$conf.low <= own$estimate & own$estimate <= own$conf.high))
    }
    expect_identical(nrow(glance(release)), 1L)
    if (requireNamespace("ggplot2", quietly = TRUE)) {
      drawn <- ggplot2::autoplot(release)
      expect_s3_class(ggplot2::ggplot_build(drawn)$plot, "ggplot")
      said <- unlist(strsplit(unlist(drawn$labels[c("title", "subtitle", "caption")]), "\n"))
      expect_lte(max(nchar(said)), 60)
    }
  }
})

test_that("a release is added to a picture", {
  release <- read_release(system.file("extdata", "mean.json", package = "dpfda"))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  plot(release)
  expect_identical(lines(release, band = TRUE), release)
  image <- read_release(system.file("extdata", "image.json", package = "dpfda"))
  expect_error(lines(image), "only functions of one variable")
})
