(** Rounds whose records are clipped anew in each, by what was released before: machines by clipped descent
    (`machines/solvers/gradient.py`) and hazards with covariates (`survival/cox_rounds.py`). *)

From Coq Require Import ZArith Lia List Psatz.
From Proofs Require Import Sums Constants Sensitivity.
Import ListNotations.
Open Scope Z_scope.

(** Integers that the check finds too long add nothing, whatever floats made them. *)
Definition kept (size : nat) (level : Z) (v : vector) : vector :=
  if square size v <=? level * level then v else fun _ => 0.

Theorem kept_fits : forall size level v, in_l2 size level (kept size level v).
Proof.
  intros size level v. unfold in_l2, kept. destruct (square size v <=? level * level) eqn:E.
  - now apply Z.leb_le.
  - unfold square. rewrite sum_zero. apply Z.square_nonneg.
Qed.

(** What a row adds to a step of descent, row by row of the table of features and functions. *)
Definition step_row (functions : nat) (z e : vector) : vector :=
  fun c => z (Nat.div c functions) * e (Nat.modulo c functions).

(** And to a round of calibration: one integer, times 2^feature_bits. *)
Definition calibration_row (w : Z) : vector := fun c => if Z.of_nat c =? 0 then w * 2 ^ feature_bits else 0.

Lemma sum_parts : forall n m v, sum (n + m) v = sum n v + sum m (fun j => v (n + j)%nat).
Proof.
  induction m; intros v; [rewrite Nat.add_0_r; simpl; lia|].
  replace (n + S m)%nat with (S (n + m)) by lia. cbn [sum]. rewrite IHm. lia.
Qed.

Lemma step_row_length : forall functions n z e, (0 < functions)%nat ->
  square (n * functions) (step_row functions z e) = square n z * square functions e.
Proof.
  intros m n z e M. unfold square, step_row. induction n; [reflexivity|].
  replace (S n * m)%nat with (n * m + m)%nat by lia. rewrite sum_parts, IHn. cbn [sum].
  set (r := sum m (fun j => e j * e j)).
  rewrite (sum_ext m _ (fun j => z n * z n * (e j * e j))).
  - rewrite sum_times. fold r. ring.
  - intros j J. replace (n * m + j)%nat with (j + n * m)%nat by lia.
    rewrite Nat.div_add, Nat.mod_add, Nat.div_small, Nat.mod_small by lia. rewrite Nat.add_0_l. lia.
Qed.

Theorem step_row_fits : forall functions n level z e, (0 < functions)%nat -> in_l2 n (2 ^ feature_bits) z ->
  in_l2 (n * functions) (2 ^ feature_bits * level) (step_row functions z (kept functions level e)).
Proof.
  intros functions n level z e M Fz. pose proof (kept_fits functions level e) as E. unfold in_l2 in *.
  rewrite step_row_length by exact M.
  pose proof (square_not_negative n z). pose proof (square_not_negative functions (kept functions level e)).
  replace (2 ^ feature_bits * level * (2 ^ feature_bits * level))
    with (2 ^ feature_bits * 2 ^ feature_bits * (level * level)) by ring.
  apply Z.mul_le_mono_nonneg; assumption.
Qed.

Theorem calibration_row_fits : forall size level w,
  in_l2 size (2 ^ feature_bits * level) (calibration_row (kept 1 level (fun _ => w) O)).
Proof.
  intros size level w. pose proof (kept_fits 1 level (fun _ => w)) as E. unfold in_l2 in *.
  set (k := kept 1 level (fun _ => w) O) in *. unfold square in E. cbn [sum] in E. fold k in E.
  assert (P : 0 <= 2 ^ feature_bits) by (apply Z.pow_nonneg; lia). set (p := 2 ^ feature_bits) in *.
  destruct size; [unfold square; simpl; nia|]. unfold square, calibration_row. fold p.
  replace (S size) with (1 + size)%nat by lia. rewrite sum_parts.
  rewrite (sum_ext size _ (fun _ => 0)), sum_zero by (intros j _; reflexivity). cbn [sum Z.of_nat Z.eqb].
  assert (K : k * k <= level * level) by lia. nia.
Qed.

(** * All rounds *)

(** A unit in one round: the sum over its rows, each at the level for so many. Releases before are in `row`. *)
Definition of_unit (bits : Z) (row : Z -> vector -> vector) (unit : list vector) : vector :=
  total (map (row (2 ^ bits / Z.of_nat (length unit))) unit).

Definition summed (bits : Z) (row : Z -> vector -> vector) (units : list (list vector)) : vector :=
  total (map (of_unit bits row) units).

Lemma of_unit_fits : forall size bits scale row unit, 0 <= scale -> 0 <= bits ->
  (forall level record, 0 <= level -> in_l2 size (scale * level) (row level record)) ->
  in_l2 size (scale * 2 ^ bits) (of_unit bits row unit).
Proof.
  intros size bits scale row unit S0 B R. unfold of_unit. set (n := Z.of_nat (length unit)).
  assert (P : 0 <= 2 ^ bits) by (apply Z.pow_nonneg; lia).
  destruct unit as [|first rest].
  { unfold in_l2, square. simpl. rewrite sum_zero. apply Z.square_nonneg. }
  assert (N : 0 < n) by (unfold n; simpl length; lia).
  set (level := 2 ^ bits / n). assert (L : 0 <= level) by (apply Z.div_pos; lia).
  pose proof (rows_of_a_unit size (scale * level) (map (row level) (first :: rest)) ltac:(nia)) as U.
  rewrite map_length in U. fold n in U.
  assert (F : Forall (in_l2 size (scale * level)) (map (row level) (first :: rest))).
  { apply Forall_forall. intros v I. apply in_map_iff in I. destruct I as [x [<- _]]. apply R, L. }
  specialize (U F). unfold in_l2 in *. apply Z.le_trans with (1 := U).
  assert (W : n * level <= 2 ^ bits) by (apply Z.mul_div_le, N).
  apply Z.square_le_mono_nonneg; nia.
Qed.

Inductive units_replaced : list (list vector) -> list (list vector) -> Prop :=
  | Unit_replaced : forall before unit other after,
      units_replaced (before ++ unit :: after) (before ++ other :: after).
Inductive units_added : list (list vector) -> list (list vector) -> Prop :=
  | Unit_added : forall before unit after, units_added (before ++ unit :: after) (before ++ after)
  | Unit_removed : forall before unit after, units_added (before ++ after) (before ++ unit :: after).

(** Whatever was released before each of T rounds (row t depends on it in any way), their moves together stay within the
    width that noise of T rounds is scaled to. *)
Theorem rounds_fit : forall (replaced : bool) size bits scale times (row : nat -> Z -> vector -> vector) a b,
  0 <= scale -> 0 <= bits -> 0 <= times ->
  (forall t level record, 0 <= level -> in_l2 size (scale * level) (row t level record)) ->
  (if replaced then units_replaced a b else units_added a b) ->
  sum (Z.to_nat times) (fun t => square size (minus (summed bits (row t) a) (summed bits (row t) b)))
  <= repeated_width (differences replaced (scale * 2 ^ bits)) times
     * repeated_width (differences replaced (scale * 2 ^ bits)) times.
Proof.
  intros replaced size bits scale times row a b S0 B T R N.
  set (width := differences replaced (scale * 2 ^ bits)).
  assert (P : 0 <= 2 ^ bits) by (apply Z.pow_nonneg; lia).
  assert (One : forall t, square size (minus (summed bits (row t) a) (summed bits (row t) b)) <= width * width).
  { intros t. assert (F : forall units, Forall (in_l2 size (scale * 2 ^ bits)) (map (of_unit bits (row t)) units)).
    { intros units. apply Forall_forall. intros v I. apply in_map_iff in I. destruct I as [x [<- _]].
      apply of_unit_fits; try assumption. apply R. }
    change (in_l2 size width (minus (summed bits (row t) a) (summed bits (row t) b))). unfold summed, width.
    destruct replaced.
    - apply l2_replace; try apply F. destruct N. rewrite !map_app. apply Replaced.
    - apply l2_add; try apply F. destruct N; rewrite !map_app; [apply Added|apply Removed]. }
  apply Z.le_trans with (width * width * times); [|apply root_up_enough].
  apply Z.le_trans with (sum (Z.to_nat times) (fun _ => width * width)).
  - apply sum_le. intros t _. apply One.
  - rewrite (sum_ext _ _ (fun _ => width * width * 1)) by (intros; lia). rewrite sum_times.
    replace (sum (Z.to_nat times) (fun _ => 1)) with times; [lia|].
    rewrite <- (Z2Nat.id times) at 1 by lia. generalize (Z.to_nat times). clear. induction n; simpl sum; lia.
Qed.

(** Descent: records whose features are in their ball, slopes made in any way from what was released before and from the
    record alone. A record here is its features, and `slope t` its slopes in step t. *)
Theorem descent_fits : forall replaced n functions steps calibrations (slope : nat -> Z -> vector -> vector)
  (tilt : nat -> Z -> vector -> Z) (features : vector -> vector) a b,
  (0 < functions)%nat -> 0 <= steps -> 0 <= calibrations -> (forall record, in_l2 n (2 ^ feature_bits) (features record)) ->
  (if (replaced : bool) then units_replaced a b else units_added a b) ->
  let row t level record := if Z.of_nat t <? steps
    then step_row functions (features record) (kept functions level (slope t level record))
    else calibration_row (kept 1 level (fun _ => tilt t level record) O) in
  let width := repeated_width (differences replaced (2 ^ (slope_bits + feature_bits))) (steps + calibrations) in
  sum (Z.to_nat (steps + calibrations))
    (fun t => square (n * functions) (minus (summed slope_bits (row t) a) (summed slope_bits (row t) b)))
  <= width * width.
Proof.
  intros replaced n functions steps calibrations slope tilt features a b M S0 C F N row width. unfold width.
  replace (2 ^ (slope_bits + feature_bits)) with (2 ^ feature_bits * 2 ^ slope_bits)
    by (rewrite Z.pow_add_r by (vm_compute; discriminate); ring).
  apply rounds_fit; [apply Z.pow_nonneg; lia|vm_compute; discriminate|lia| |exact N].
  intros t level record L. unfold row. destruct (Z.of_nat t <? steps); [apply step_row_fits; auto|apply calibration_row_fits].
Qed.

(** Rounds of hazards: vectors made in any way from what was released before and from the record alone. *)
Theorem hazards_fit : forall replaced size times (part : nat -> Z -> vector -> vector) a b, 0 <= times ->
  (if (replaced : bool) then units_replaced a b else units_added a b) ->
  let row t level record := kept size level (part t level record) in
  let width := repeated_width (differences replaced (2 ^ length_bits)) times in
  sum (Z.to_nat times) (fun t => square size (minus (summed length_bits (row t) a) (summed length_bits (row t) b)))
  <= width * width.
Proof.
  intros replaced size times part a b T N row width. unfold width.
  replace (2 ^ length_bits) with (1 * 2 ^ length_bits) by ring.
  apply rounds_fit; [lia|vm_compute; discriminate|lia| |exact N].
  intros t level record _. unfold row. rewrite Z.mul_1_l. apply kept_fits.
Qed.
