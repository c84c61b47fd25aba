(** What one unit adds to a sum, and how far the sums of neighbouring data sets are apart.

    All of it over the integers, as the program has them: a release is a sum of integer vectors, and
    what is proved here of these vectors is what noise is scaled to. *)

From Coq Require Import ZArith Lia List Psatz.
From Proofs Require Import Sums Constants.
Import ListNotations.
Open Scope Z_scope.

(** * Bodies: where the vectors of single units lie *)

Definition in_box (size : nat) (h v : vector) : Prop := forall j, (j < size)%nat -> Z.abs (v j) <= h j.
Definition in_l1 (size : nat) (radius : Z) (v : vector) : Prop := size1 size v <= radius.
Definition in_l2 (size : nat) (radius : Z) (v : vector) : Prop := square size v <= radius * radius.

(** * From a record into its body *)

(** Bounds on values: every integer is moved to the nearer end. *)
Definition clip (h x : Z) : Z := Z.max (- h) (Z.min x h).

Theorem clip_in_box : forall size h v,
  (forall j, (j < size)%nat -> 0 <= h j) -> in_box size h (fun j => clip (h j) (v j)).
Proof. intros size h v N j L. specialize (N j L). unfold clip. lia. Qed.

(** What is inside already stays as it is. *)
Theorem clip_inside : forall h x, Z.abs x <= h -> clip h x = x.
Proof. unfold clip. lia. Qed.

(** A quotient rounded toward zero is no larger than the quotient. *)
Definition toward_zero (p q : Z) : Z := Z.quot p q.

Theorem toward_zero_no_larger : forall p q, 0 < q -> Z.abs (toward_zero p q) * q <= Z.abs p.
Proof.
  intros p q Q. unfold toward_zero.
  rewrite <- (Z.abs_eq q) at 2 by lia.
  rewrite <- Z.abs_mul, Z.mul_comm.
  pose proof (Z.quot_rem' p q). pose proof (Z.rem_sign_mul p q).
  pose proof (Z.rem_bound_abs p q).
  destruct (Z.le_gt_cases 0 p).
  - pose proof (Z.rem_bound_pos p q). pose proof (Z.quot_pos p q). nia.
  - pose proof (Z.rem_bound_neg_pos p q).
    pose proof (Z.quot_pos (- p) q). rewrite Z.quot_opp_l in * by lia. nia.
Qed.

(** A record that rounding has left outside is moved, checked in integers, and in the end dropped. *)
Definition closer (x : Z) : Z := x - Z.sgn x.
Definition halved (x : Z) : Z := Z.sgn x * (Z.abs x / 2).

Definition repaired (inside : vector -> bool) (v : vector) : vector :=
  if inside v then v
  else if inside (fun j => closer (v j)) then fun j => closer (v j)
  else if inside (fun j => halved (v j)) then fun j => halved (v j)
  else fun _ => 0.

(** Whatever the floats before it did, what is added is inside. *)
Theorem repaired_inside : forall inside v, inside (fun _ => 0) = true -> inside (repaired inside v) = true.
Proof.
  intros inside v Zero. unfold repaired.
  destruct (inside v) eqn:A; [exact A|].
  destruct (inside (fun j => closer (v j))) eqn:B; [exact B|].
  destruct (inside (fun j => halved (v j))) eqn:C; [exact C|exact Zero].
Qed.

(** * From units to sums *)

(** The sum over all units. *)
Fixpoint total (units : list vector) : vector :=
  match units with
  | [] => fun _ => 0
  | unit :: rest => fun j => unit j + total rest j
  end.

Lemma total_app : forall a b j, total (a ++ b) j = total a j + total b j.
Proof. induction a; simpl; intros; [|rewrite IHa]; lia. Qed.

(** Neighbours: one unit is replaced by another, or there is one unit more. *)
Inductive replace_one : list vector -> list vector -> Prop :=
  | Replaced : forall before unit other after,
      replace_one (before ++ unit :: after) (before ++ other :: after).
Inductive add_remove : list vector -> list vector -> Prop :=
  | Added : forall before unit after, add_remove (before ++ unit :: after) (before ++ after)
  | Removed : forall before unit after, add_remove (before ++ after) (before ++ unit :: after).

(** By how much sums may be apart in a norm, where one unit has at most this radius. *)
Definition differences (replaced : bool) (radius : Z) : Z := if replaced then 2 * radius else radius.

(** A norm, as far as it is needed: what holds of the sizes of two vectors holds of their difference. *)
Lemma replaced_difference : forall (body : Z -> vector -> Prop) radius a b,
  (forall v w, (forall j, v j = w j) -> forall r, body r v -> body r w) ->
  (forall v w, body radius v -> body radius w -> body (2 * radius) (minus v w)) ->
  Forall (body radius) a -> Forall (body radius) b ->
  replace_one a b -> body (differences true radius) (minus (total a) (total b)).
Proof.
  intros body radius a b Ext Diff A B N. revert A B. destruct N as [before unit other after]. intros A B.
  apply Forall_app in A, B. destruct A as [_ A], B as [_ B]. apply Forall_inv in A, B.
  apply Ext with (v := minus unit other); [|simpl; auto].
  intros j. unfold minus. rewrite !total_app. cbn [total]. lia.
Qed.

Lemma added_difference : forall (body : Z -> vector -> Prop) radius a b,
  (forall v w, (forall j, v j = w j) -> forall r, body r v -> body r w) ->
  (forall v, body radius v -> body radius (fun j => - v j)) ->
  Forall (body radius) a -> Forall (body radius) b ->
  add_remove a b -> body (differences false radius) (minus (total a) (total b)).
Proof.
  intros body radius a b Ext Opp A B N. revert A B.
  destruct N as [before unit after|before unit after]; intros A B.
  - apply Forall_app in A. destruct A as [_ A]. apply Forall_inv in A.
    apply Ext with (v := unit); [|simpl; auto].
    intros j. unfold minus. rewrite !total_app. cbn [total]. lia.
  - apply Forall_app in B. destruct B as [_ B]. apply Forall_inv in B.
    apply Ext with (v := fun j => - unit j); [|simpl; auto].
    intros j. unfold minus. rewrite !total_app. cbn [total]. lia.
Qed.

Lemma in_l1_ext : forall size (v w : vector), (forall j, v j = w j) -> forall r, in_l1 size r v -> in_l1 size r w.
Proof.
  intros size v w E r. unfold in_l1, size1. rewrite (sum_ext size _ (fun j => Z.abs (w j))); auto.
  intros. now rewrite E.
Qed.

Lemma in_l2_ext : forall size (v w : vector), (forall j, v j = w j) -> forall r, in_l2 size r v -> in_l2 size r w.
Proof.
  intros size v w E r. unfold in_l2, square. rewrite (sum_ext size _ (fun j => w j * w j)); auto.
  intros. now rewrite E.
Qed.

(** l1 balls: neighbouring sums are at most 2 R apart, or R where a unit is added or removed. *)
Theorem l1_replace : forall size radius a b,
  Forall (in_l1 size radius) a -> Forall (in_l1 size radius) b -> replace_one a b ->
  in_l1 size (differences true radius) (minus (total a) (total b)).
Proof.
  intros size radius a b. apply replaced_difference with (body := in_l1 size).
  - apply in_l1_ext.
  - unfold in_l1, size1. intros v w V W.
    apply Z.le_trans with (sum size (fun j => Z.abs (v j) + Z.abs (w j))).
    + apply sum_le. intros. unfold minus. lia.
    + rewrite sum_plus. unfold differences. lia.
Qed.

Theorem l1_add : forall size radius a b,
  Forall (in_l1 size radius) a -> Forall (in_l1 size radius) b -> add_remove a b ->
  in_l1 size (differences false radius) (minus (total a) (total b)).
Proof.
  intros size radius a b. apply added_difference with (body := in_l1 size).
  - apply in_l1_ext.
  - unfold in_l1, size1. intros v V. rewrite (sum_ext size _ (fun j => Z.abs (v j))); [exact V|].
    intros. cbn beta. apply Z.abs_opp.
Qed.

(** l2 balls: the same, by squares. *)
Theorem l2_replace : forall size radius a b,
  Forall (in_l2 size radius) a -> Forall (in_l2 size radius) b -> replace_one a b ->
  in_l2 size (differences true radius) (minus (total a) (total b)).
Proof.
  intros size radius a b. apply replaced_difference with (body := in_l2 size).
  - apply in_l2_ext.
  - unfold in_l2, square. intros v w V W.
    apply Z.le_trans with (sum size (fun j => 2 * (v j * v j) + 2 * (w j * w j))).
    + apply sum_le. intros. unfold minus. pose proof (Z.square_nonneg (v j + w j)). nia.
    + rewrite sum_plus, !sum_times. unfold differences. nia.
Qed.

Theorem l2_add : forall size radius a b,
  Forall (in_l2 size radius) a -> Forall (in_l2 size radius) b -> add_remove a b ->
  in_l2 size (differences false radius) (minus (total a) (total b)).
Proof.
  intros size radius a b. apply added_difference with (body := in_l2 size).
  - apply in_l2_ext.
  - unfold in_l2, square. intros v V. rewrite (sum_ext size _ (fun j => v j * v j)); [exact V|].
    intros. lia.
Qed.

(** Boxes, coordinate by coordinate. *)
Theorem box_replace : forall size h a b,
  Forall (in_box size h) a -> Forall (in_box size h) b -> replace_one a b ->
  in_box size (fun j => differences true (h j)) (minus (total a) (total b)).
Proof.
  intros size h a b A B N. revert A B. destruct N as [before unit other after]. intros A B j L.
  apply Forall_app in A, B. destruct A as [_ A], B as [_ B]. apply Forall_inv in A, B.
  specialize (A j L). specialize (B j L).
  unfold minus, differences. rewrite !total_app. cbn [total]. lia.
Qed.

Theorem box_add : forall size h a b,
  Forall (in_box size h) a -> Forall (in_box size h) b -> add_remove a b ->
  in_box size (fun j => differences false (h j)) (minus (total a) (total b)).
Proof.
  intros size h a b A B N. revert A B.
  destruct N as [before unit after|before unit after]; intros A B j L;
  [apply Forall_app in A; destruct A as [_ A]; apply Forall_inv in A; specialize (A j L)
  |apply Forall_app in B; destruct B as [_ B]; apply Forall_inv in B; specialize (B j L)];
  unfold minus, differences; rewrite !total_app; cbn [total]; lia.
Qed.

(** * Coefficients in an l1 ball whose records are summed on the grid of values *)

(** A size in units of 2^shift, rounded up. *)
Definition units_up (shift x : Z) : Z := - (- Z.abs x / 2 ^ shift).

(** A record that passes the check adds its coefficients; any other adds 2^shift times a vector that
    was verified to be in the ball. Both are within 2^shift radius. *)
Theorem grid_inside : forall size shift radius v, 0 <= shift ->
  sum size (fun j => units_up shift (v j)) <= radius -> in_l1 size (2 ^ shift * radius) v.
Proof.
  intros size shift radius v N H. unfold in_l1, size1.
  apply Z.le_trans with (sum size (fun j => 2 ^ shift * units_up shift (v j))).
  - apply sum_le. intros j _. unfold units_up.
    assert (0 < 2 ^ shift) by (apply Z.pow_pos_nonneg; lia).
    pose proof (Z.mul_div_le (- Z.abs (v j)) (2 ^ shift) ltac:(lia)). nia.
  - rewrite sum_times. apply Z.mul_le_mono_nonneg_l; [apply Z.pow_nonneg; lia|exact H].
Qed.

Theorem grid_projected : forall size shift radius z, 0 <= shift ->
  in_l1 size radius z -> in_l1 size (2 ^ shift * radius) (fun j => 2 ^ shift * z j).
Proof.
  intros size shift radius z N H. unfold in_l1, size1 in *.
  rewrite (sum_ext size _ (fun j => 2 ^ shift * Z.abs (z j))).
  - rewrite sum_times. apply Z.mul_le_mono_nonneg_l; [apply Z.pow_nonneg; lia|exact H].
  - intros j _. rewrite Z.abs_mul. rewrite (Z.abs_eq (2 ^ shift)); [reflexivity|apply Z.pow_nonneg; lia].
Qed.

(** * Averages of the points of a unit: shares of cells *)

(** A unit with count_c of its points in cell c, points in all, has shares of the cells. *)
Definition share (bits count points : Z) : Z := count * 2 ^ bits / points.

Lemma sum_div_le : forall size v d, 0 < d -> d * sum size (fun j => v j / d) <= sum size v.
Proof.
  intros size v d D. rewrite <- sum_times. apply sum_le. intros j _. apply Z.mul_div_le. exact D.
Qed.

(** They are not negative, and all of them together are at most one whole, however many points a unit has. *)
Theorem shares_of_a_unit : forall size bits counts, 0 <= bits ->
  (forall c, (c < size)%nat -> 0 <= counts c) -> 0 < sum size counts ->
  (forall c, (c < size)%nat -> 0 <= share bits (counts c) (sum size counts)) /\
  sum size (fun c => share bits (counts c) (sum size counts)) <= 2 ^ bits.
Proof.
  intros size bits counts B N P. unfold share.
  assert (0 < 2 ^ bits) by (apply Z.pow_pos_nonneg; lia).
  split.
  - intros c L. apply Z.div_pos; [|exact P]. specialize (N c L). nia.
  - pose proof (sum_div_le size (fun c => counts c * 2 ^ bits) (sum size counts) P) as Le.
    rewrite (sum_ext size (fun j => counts j * 2 ^ bits) (fun j => 2 ^ bits * counts j)) in Le by (intros; lia).
    rewrite sum_times in Le. nia.
Qed.

(** Two units of shares are at most 2 w apart in sizes, and 2 w^2 in squares. *)
Theorem shares_apart : forall size w u v,
  (forall c, (c < size)%nat -> 0 <= u c) -> (forall c, (c < size)%nat -> 0 <= v c) ->
  sum size u <= w -> sum size v <= w ->
  size1 size (minus u v) <= 2 * w /\ square size (minus u v) <= 2 * (w * w).
Proof.
  intros size w u v U V Wu Wv.
  assert (Hu : square size u <= w * w /\ square size v <= w * w).
  { assert (Half : forall t : vector, (forall c, (c < size)%nat -> 0 <= t c) -> sum size t <= w ->
      square size t <= w * w).
    { intros t T Wt. unfold square.
      apply Z.le_trans with (sum size (fun c => w * t c)).
      - apply sum_le. intros c L. pose proof (sum_one_le size t c T L). pose proof (T c L). nia.
      - rewrite sum_times. pose proof (sum_not_negative size t T). nia. }
    split; auto. }
  split.
  - unfold size1. apply Z.le_trans with (sum size (fun c => u c + v c)).
    + apply sum_le. intros c L. specialize (U c L). specialize (V c L). unfold minus. lia.
    + rewrite sum_plus. lia.
  - unfold square in *. apply Z.le_trans with (sum size (fun c => u c * u c + v c * v c)).
    + apply sum_le. intros c L. specialize (U c L). specialize (V c L). unfold minus. nia.
    + rewrite sum_plus. lia.
Qed.

(** * Outer products: sums of c c^T, for covariances *)

Definition outer (v w : vector) (i j : nat) : Z := v i * w j.
Definition frobenius_square (size : nat) (m : nat -> nat -> Z) : Z :=
  sum size (fun i => sum size (fun j => m i j * m i j)).

(** What a unit moves by, squared: R^4, or twice that where it is replaced and there is room for an
    orthogonal one. *)
Definition outer_square (replaced : bool) (size square_radius : Z) : Z :=
  (if replaced then (if 1 <? size then 2 else 1) else 1) * (square_radius * square_radius).

Lemma outer_length : forall n m v w,
  sum n (fun i => sum m (fun j => outer v w i j * outer v w i j)) = square n v * square m w.
Proof.
  intros. unfold square.
  rewrite (sum_ext n _ (fun i => sum m (fun j => w j * w j) * (v i * v i))).
  - rewrite sum_times. lia.
  - intros i _. rewrite (sum_ext m _ (fun j => (v i * v i) * (w j * w j))) by (intros; unfold outer; lia).
    rewrite sum_times. lia.
Qed.

Lemma outer_inner : forall n v w,
  sum n (fun i => sum n (fun j => outer v v i j * outer w w i j))
  = sum n (fun i => v i * w i) * sum n (fun i => v i * w i).
Proof.
  intros. rewrite (sum_ext n _ (fun i => sum n (fun j => v j * w j) * (v i * w i))).
  - rewrite sum_times. lia.
  - intros i _. rewrite (sum_ext n _ (fun j => (v i * w i) * (v j * w j))) by (intros; unfold outer; lia).
    rewrite sum_times. lia.
Qed.

Theorem outer_replace : forall size radius v w,
  in_l2 size radius v -> in_l2 size radius w ->
  frobenius_square size (fun i j => outer v v i j - outer w w i j)
    <= outer_square true (Z.of_nat size) (radius * radius).
Proof.
  intros size radius v w V W. unfold frobenius_square, outer_square, in_l2 in *.
  pose proof (square_not_negative size v). pose proof (square_not_negative size w).
  destruct (1 <? Z.of_nat size) eqn:Size.
  - assert (E : sum size (fun i => sum size (fun j =>
        (outer v v i j - outer w w i j) * (outer v v i j - outer w w i j)))
      = square size v * square size v + square size w * square size w
        - 2 * (sum size (fun i => v i * w i) * sum size (fun i => v i * w i))).
    { rewrite <- !outer_length, <- outer_inner.
      rewrite <- sum_times, <- sum_plus, <- sum_minus. apply sum_ext. intros i _.
      rewrite <- sum_times, <- sum_plus, <- sum_minus. apply sum_ext. intros j _. lia. }
    rewrite E. set (r := radius * radius) in *. clearbody r.
    assert (square size v * square size v <= r * r) by nia.
    assert (square size w * square size w <= r * r) by nia. nia.
  - apply Z.ltb_ge in Size. assert (size = 0%nat \/ size = 1%nat) as [-> | ->] by lia.
    + cbn [sum]. nia.
    + unfold square, outer in *. cbn [sum] in *. rewrite !Z.add_0_l in *. set (r := radius * radius) in *. clearbody r.
      assert (Z.abs (v 0%nat * v 0%nat - w 0%nat * w 0%nat) <= r) by nia. nia.
Qed.

Theorem outer_add : forall size radius v,
  in_l2 size radius v -> frobenius_square size (outer v v) <= outer_square false (Z.of_nat size) (radius * radius).
Proof.
  intros size radius v V. unfold frobenius_square, outer_square, in_l2 in *.
  rewrite outer_length. pose proof (square_not_negative size v).
  set (r := radius * radius) in *. clearbody r. nia.
Qed.

(** * Clipped gradients, step by step *)

(** A row adds the outer product of features in a ball and of slopes in another. *)
Theorem gradient_of_a_row : forall n m feature slope z e, 0 <= feature -> 0 <= slope ->
  in_l2 n feature z -> in_l2 m slope e ->
  sum n (fun i => sum m (fun j => outer z e i j * outer z e i j)) <= (feature * slope) * (feature * slope).
Proof.
  intros n m feature slope z e F S0 Z0 E. rewrite outer_length. unfold in_l2 in *.
  pose proof (square_not_negative n z). pose proof (square_not_negative m e). nia.
Qed.

Fixpoint squares_at (rows : list vector) (j : nat) : Z :=
  match rows with
  | [] => 0
  | row :: rest => row j * row j + squares_at rest j
  end.

Lemma square_of_sum : forall rows j,
  total rows j * total rows j
  <= Z.of_nat (length rows) * squares_at rows j.
Proof.
  induction rows as [|row rows IH]; intros j; [simpl; lia|].
  specialize (IH j). simpl total. simpl squares_at.
  replace (Z.of_nat (length (row :: rows))) with (Z.of_nat (length rows) + 1) by (simpl length; lia).
  set (n := Z.of_nat (length rows)) in *. set (t := total rows j) in *. set (x := row j).
  set (q := squares_at rows j) in *.
  assert (0 <= n) by (subst n; lia).
  assert (Q : 0 <= q) by (subst q; clear; induction rows; simpl; [lia|nia]).
  clearbody n t x q.
  assert (2 * t * x <= n * (x * x) + q); [|nia].
  destruct (Z.eq_dec n 0) as [->|]; [assert (t = 0) by nia; subst; lia|].
  assert (0 <= (n * x - t) * (n * x - t)) by apply Z.square_nonneg. nia.
Qed.

(** m rows of length at most a each add up to a length of at most m a. *)
Theorem rows_of_a_unit : forall size a rows, 0 <= a ->
  Forall (in_l2 size a) rows -> in_l2 size (Z.of_nat (length rows) * a) (total rows).
Proof.
  intros size a rows A F. unfold in_l2 in *.
  set (n := Z.of_nat (length rows)).
  apply Z.le_trans with (sum size (fun j => n * squares_at rows j)).
  - unfold square. apply sum_le. intros j _. apply square_of_sum.
  - rewrite sum_times.
    assert (sum size (fun j => squares_at rows j) <= n * (a * a)).
    { subst n. clear A. induction F as [|row rows R F IH].
      - cbn [squares_at]. rewrite sum_zero. cbn [length Z.of_nat]. lia.
      - cbn [squares_at]. rewrite sum_plus. cbv beta in R. unfold square in R.
        replace (Z.of_nat (length (row :: rows))) with (Z.of_nat (length rows) + 1) by (simpl length; lia).
        eapply Z.le_trans; [apply Z.add_le_mono; [exact R|exact IH]|lia]. }
    apply Z.le_trans with (n * (n * (a * a))); [|lia].
    apply Z.mul_le_mono_nonneg_l; [subst n; lia|assumption].
Qed.

(** The level to which the slopes of each of a unit's rows are clipped. *)
Definition slope_level (rows : Z) : Z := 2 ^ slope_bits / rows.

(** All rows of a unit together stay within the width that noise is scaled to. *)
Theorem unit_in_a_step : forall rows, 0 < rows ->
  rows * (2 ^ feature_bits * slope_level rows) <= 2 ^ (slope_bits + feature_bits).
Proof.
  intros rows R. unfold slope_level.
  pose proof (Z.mul_div_le (2 ^ slope_bits) rows R).
  rewrite Z.pow_add_r by (vm_compute; discriminate).
  assert (0 <= 2 ^ feature_bits) by (apply Z.pow_nonneg; lia). nia.
Qed.

(** ** Roots of integers, rounded up *)

Definition root_up (n : Z) : Z := Z.sqrt (n - 1) + 1.

Theorem root_up_enough : forall n, n <= root_up n * root_up n.
Proof.
  intros n. unfold root_up. destruct (Z.le_gt_cases n 0).
  - pose proof (Z.sqrt_nonneg (n - 1)). nia.
  - destruct (Z.sqrt_spec (n - 1)) as [_ Spec]; [lia|]. unfold Z.succ in Spec. lia.
Qed.

(** T steps of the same noise cost as one whose width is T^(1/2) times as large: squares add up. *)
Definition repeated_width (width times : Z) : Z := root_up (width * width * times).

Theorem steps_fit : forall width times (moves : vector),
  (forall t, (t < Z.to_nat times)%nat -> 0 <= moves t <= width) -> 0 <= times ->
  square (Z.to_nat times) moves <= repeated_width width times * repeated_width width times.
Proof.
  intros width times moves M T. unfold repeated_width.
  apply Z.le_trans with (width * width * times); [|apply root_up_enough].
  unfold square. apply Z.le_trans with (sum (Z.to_nat times) (fun _ => width * width)).
  - apply sum_le. intros t L. specialize (M t L). nia.
  - rewrite (sum_ext _ _ (fun _ => width * width * 1)) by (intros; lia). rewrite sum_times.
    replace (sum (Z.to_nat times) (fun _ => 1)) with times; [lia|].
    rewrite <- (Z2Nat.id times) at 1 by lia. generalize (Z.to_nat times). clear.
    induction n; simpl sum; lia.
Qed.
