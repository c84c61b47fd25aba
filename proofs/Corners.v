(** Tables of corners: a unit is divided among rows, and adds to each a vector within its weight there.
    And the number of units as one coordinate more of a box. *)

From Coq Require Import ZArith Lia List Psatz.
From Proofs Require Import Sums Sensitivity Constants.
Import ListNotations.
Open Scope Z_scope.

(** * What a unit adds *)

(** Weights that are not more than one whole together but for less than one unit of them, each rounded
    down: then they are not more than one whole. *)
Theorem floored_weights : forall size d whole a, 0 < d ->
  sum size a < (whole + 1) * d -> sum size (fun r => a r / d) <= whole.
Proof. intros size d whole a D A. pose proof (sum_div_le size a d D). nia. Qed.

(** A unit of k records with weights p_i of the rows, and numbers t_i. *)
Definition corner_weight (k : nat) (p : nat -> vector) (r : nat) : Z := sum k (fun i => p i r / Z.of_nat k).
Definition corner_entry (k : nat) (p t : nat -> vector) (r j : nat) : Z :=
  sum k (fun i => p i r / Z.of_nat k * t i j).

Theorem corner_weights : forall rows k p whole, (0 < k)%nat ->
  (forall i, (i < k)%nat -> sum rows (p i) <= whole) ->
  (forall i r, (i < k)%nat -> (r < rows)%nat -> 0 <= p i r) ->
  (forall r, (r < rows)%nat -> 0 <= corner_weight k p r) /\ sum rows (corner_weight k p) <= whole.
Proof.
  intros rows k p whole K W N. split.
  - intros r L. apply sum_not_negative. intros i I. apply Z.div_pos; [auto|lia].
  - unfold corner_weight. rewrite sum_swap.
    assert (H : Z.of_nat k * sum k (fun i => sum rows (fun r => p i r / Z.of_nat k)) <= sum k (fun _ => whole * 1)).
    { rewrite <- sum_times. apply sum_le. intros i I. pose proof (W i I).
      pose proof (sum_div_le rows (p i) (Z.of_nat k) ltac:(lia)). lia. }
    rewrite sum_times in H. replace (sum k (fun _ => 1)) with (Z.of_nat k) in H; [nia|].
    clear. induction k; [reflexivity|]. cbn [sum]. lia.
Qed.

Lemma sum_abs : forall size v, Z.abs (sum size v) <= sum size (fun j => Z.abs (v j)).
Proof. induction size; simpl; intros v; [lia|]. specialize (IHsize v). lia. Qed.

Theorem corner_entries : forall k p t r j c, (0 < k)%nat ->
  (forall i, (i < k)%nat -> 0 <= p i r /\ Z.abs (t i j) <= c) ->
  Z.abs (corner_entry k p t r j) <= corner_weight k p r * c.
Proof.
  intros k p t r j c K B. unfold corner_entry, corner_weight.
  apply Z.le_trans with (sum k (fun i => c * (p i r / Z.of_nat k))).
  - eapply Z.le_trans; [apply sum_abs|]. apply sum_le. intros i I. destruct (B i I) as [P T].
    pose proof (Z.div_pos (p i r) (Z.of_nat k) P ltac:(lia)). rewrite Z.abs_mul. nia.
  - rewrite sum_times. lia.
Qed.

(** * How far neighbours are apart *)

(** All rows together, as if they were one. *)
Definition corner_width (replaced : bool) : Z := differences replaced (2 ^ (weight_bits + value_bits)).
Definition corner_distance (replaced : bool) (columns : Z) : Z :=
  Z.sqrt (columns * (corner_width replaced * corner_width replaced)) + 1.

Lemma sum_square_le : forall size v, (forall r, (r < size)%nat -> 0 <= v r) ->
  square size v <= sum size v * sum size v.
Proof.
  intros size v N. unfold square. rewrite <- sum_times. apply sum_le. intros r L.
  pose proof (sum_one_le size v r N L). specialize (N r L). nia.
Qed.

(** Row by row the largest move, m_r; these add up to no more than one row alone may move by. *)
Lemma rows_within : forall rows columns (m : vector) (d : nat -> nat -> Z) width,
  (forall r, (r < rows)%nat -> 0 <= m r) -> sum rows m <= width ->
  (forall r j, (r < rows)%nat -> (j < columns)%nat -> Z.abs (d r j) <= m r) ->
  sum rows (fun r => sum columns (fun j => d r j * d r j)) <= Z.of_nat columns * (width * width).
Proof.
  intros rows columns m d width N W D.
  apply Z.le_trans with (sum rows (fun r => Z.of_nat columns * (m r * m r))).
  - apply sum_le. intros r L. specialize (D r). specialize (N r L).
    apply Z.le_trans with (sum columns (fun _ => m r * m r * 1)).
    + apply sum_le. intros j J. specialize (D j L J). nia.
    + rewrite sum_times. replace (sum columns (fun _ => 1)) with (Z.of_nat columns); [lia|].
      clear. induction columns; [reflexivity|]. cbn [sum]. lia.
  - rewrite sum_times. pose proof (sum_square_le rows m N) as S. unfold square in S.
    pose proof (sum_not_negative rows m N). apply Z.mul_le_mono_nonneg_l; [lia|]. nia.
Qed.

(** A unit: weights s of the rows, and a table of entries within them. *)
Definition in_corners (rows columns : nat) (s : vector) (x : nat -> nat -> Z) : Prop :=
  (forall r, (r < rows)%nat -> 0 <= s r) /\ sum rows s <= 2 ^ weight_bits /\
  (forall r j, (r < rows)%nat -> (j < columns)%nat -> Z.abs (x r j) <= s r * 2 ^ value_bits).

Theorem corners_replace : forall rows columns s x s' x',
  in_corners rows columns s x -> in_corners rows columns s' x' ->
  exists m : vector,
    (forall r j, (r < rows)%nat -> (j < columns)%nat -> Z.abs (x r j - x' r j) <= m r) /\
    sum rows m <= corner_width true /\
    sum rows (fun r => sum columns (fun j => (x r j - x' r j) * (x r j - x' r j)))
      <= corner_distance true (Z.of_nat columns) * corner_distance true (Z.of_nat columns).
Proof.
  intros rows columns s x s' x' [N [W X]] [N' [W' X']].
  set (c := 2 ^ value_bits) in *. assert (C : 0 <= c) by (apply Z.pow_nonneg; lia).
  exists (fun r => c * (s r + s' r)).
  assert (M : forall r j, (r < rows)%nat -> (j < columns)%nat -> Z.abs (x r j - x' r j) <= c * (s r + s' r)).
  { intros r j L J. specialize (X r j L J). specialize (X' r j L J). lia. }
  assert (T : sum rows (fun r => c * (s r + s' r)) <= corner_width true).
  { rewrite sum_times, sum_plus. unfold corner_width, differences.
    rewrite Z.pow_add_r by (vm_compute; discriminate). fold c. nia. }
  split; [exact M|]. split; [exact T|].
  eapply Z.le_trans.
  - apply rows_within with (m := fun r => c * (s r + s' r)) (d := fun r j => x r j - x' r j);
      [|exact T|exact M].
    intros r L. specialize (N r L). specialize (N' r L). nia.
  - unfold corner_distance. set (n := Z.of_nat columns * _). assert (0 <= n).
    { subst n. apply Z.mul_nonneg_nonneg; [lia|apply Z.square_nonneg]. }
    destruct (Z.sqrt_spec n H) as [_ S]. unfold Z.succ in S. lia.
Qed.

Theorem corners_add : forall rows columns s x, in_corners rows columns s x ->
  exists m : vector,
    (forall r j, (r < rows)%nat -> (j < columns)%nat -> Z.abs (x r j) <= m r) /\
    sum rows m <= corner_width false /\
    sum rows (fun r => sum columns (fun j => x r j * x r j))
      <= corner_distance false (Z.of_nat columns) * corner_distance false (Z.of_nat columns).
Proof.
  intros rows columns s x [N [W X]].
  set (c := 2 ^ value_bits) in *. assert (C : 0 <= c) by (apply Z.pow_nonneg; lia).
  exists (fun r => c * s r).
  assert (M : forall r j, (r < rows)%nat -> (j < columns)%nat -> Z.abs (x r j) <= c * s r).
  { intros r j L J. specialize (X r j L J). lia. }
  assert (T : sum rows (fun r => c * s r) <= corner_width false).
  { rewrite sum_times. unfold corner_width, differences.
    rewrite Z.pow_add_r by (vm_compute; discriminate). fold c. nia. }
  split; [exact M|]. split; [exact T|].
  eapply Z.le_trans.
  - apply rows_within with (m := fun r => c * s r) (d := x); [|exact T|exact M].
    intros r L. specialize (N r L). nia.
  - unfold corner_distance. set (n := Z.of_nat columns * _). assert (0 <= n).
    { subst n. apply Z.mul_nonneg_nonneg; [lia|apply Z.square_nonneg]. }
    destruct (Z.sqrt_spec n H) as [_ S]. unfold Z.succ in S. lia.
Qed.

(** * The number of units beside sums: the cylinder over a box *)

(** A unit with the number one, in units of count, as its last coordinate. *)
Definition with_count (size : nat) (count : Z) (v : vector) : vector :=
  fun j => if Nat.ltb j size then v j else count.

(** The scale of the last coordinate at epsilon = e / d. *)
Definition count_scale (count e d : Z) : Z := - (- (count * d) / e).

Theorem count_scale_enough : forall count e d, 0 < e -> count * d <= e * count_scale count e d.
Proof. intros count e d E. unfold count_scale. pose proof (Z.mul_div_le (- (count * d)) e E). nia. Qed.

(** Sums move by at most their half-widths, and the number by one, all at once: with scales b_j of the
    sums that hide these, no coordinate moves by more than epsilon times its scale. *)
Theorem cylinder_add : forall size count h (b : vector) e d a c, 0 < e -> 0 <= d -> 0 <= count ->
  Forall (in_box size h) a -> Forall (in_box size h) c -> add_remove a c ->
  (forall j, (j < size)%nat -> h j * d <= e * b j) ->
  forall j, (j < S size)%nat ->
    Z.abs (minus (total (map (with_count size count) a)) (total (map (with_count size count) c)) j) * d
    <= e * with_count size (count_scale count e d) b j.
Proof.
  intros size count h b e d a c E D Count A C N B j L.
  assert (Lift : forall units, Forall (in_box size h) units ->
    Forall (in_box (S size) (with_count size count h)) (map (with_count size count) units)).
  { intros units F. apply Forall_map. eapply Forall_impl; [|exact F]. intros v V k K.
    unfold with_count. destruct (Nat.ltb_spec k size); [apply V; assumption|lia]. }
  assert (R : add_remove (map (with_count size count) a) (map (with_count size count) c)).
  { destruct N; rewrite !map_app; [apply Added|apply Removed]. }
  pose proof (box_add _ _ _ _ (Lift a A) (Lift c C) R j L) as M. unfold differences in M.
  apply Z.le_trans with (with_count size count h j * d); [nia|].
  unfold with_count. destruct (Nat.ltb_spec j size); [auto|apply count_scale_enough; exact E].
Qed.

(** * Several channels in one box *)

(** Values of channels, which lie side by side at every point. *)
Definition side_by_side (channels : nat) (v : nat -> vector) : vector :=
  fun k => v (Nat.modulo k channels) (Nat.div k channels).

Theorem channels_in_box : forall channels size (h v : nat -> vector), (0 < channels)%nat ->
  (forall c, (c < channels)%nat -> in_box size (h c) (v c)) ->
  in_box (channels * size) (side_by_side channels h) (side_by_side channels v).
Proof.
  intros channels size h v C B k L. unfold side_by_side.
  apply B; [apply Nat.mod_upper_bound; lia|apply Nat.div_lt_upper_bound; lia].
Qed.

(** Scales as large as widths over epsilon = e / d: however many coordinates move at once, none by more
    than epsilon times its scale. *)
Definition box_scale (width e d : Z) : Z := Z.max 1 (count_scale width e d).

Theorem one_box_replace : forall size h a b e d, 0 < e -> 0 <= d ->
  Forall (in_box size h) a -> Forall (in_box size h) b -> replace_one a b ->
  forall j, (j < size)%nat ->
    Z.abs (minus (total a) (total b) j) * d <= e * box_scale (differences true (h j)) e d.
Proof.
  intros size h a b e d E D A B N j L. pose proof (box_replace size h a b A B N j L) as M. cbv beta in M.
  pose proof (count_scale_enough (differences true (h j)) e d E). unfold box_scale. nia.
Qed.

Theorem one_box_add : forall size h a b e d, 0 < e -> 0 <= d ->
  Forall (in_box size h) a -> Forall (in_box size h) b -> add_remove a b ->
  forall j, (j < size)%nat ->
    Z.abs (minus (total a) (total b) j) * d <= e * box_scale (differences false (h j)) e d.
Proof.
  intros size h a b e d E D A B N j L. pose proof (box_add size h a b A B N j L) as M. cbv beta in M.
  pose proof (count_scale_enough (differences false (h j)) e d E). unfold box_scale. nia.
Qed.

(** * Shares in parts of the cells *)

(** How far neighbours' shares are apart, squared, where part j gets at most w_j of a unit. *)
Definition parts_square (replaced : bool) (parts : nat) (w : vector) : Z := differences replaced (square parts w).

Theorem parts_replace : forall parts size (w : vector) (u v : nat -> vector),
  (forall j, (j < parts)%nat -> sum size (u j) <= w j /\ sum size (v j) <= w j) ->
  (forall j c, (j < parts)%nat -> (c < size)%nat -> 0 <= u j c /\ 0 <= v j c) ->
  sum parts (fun j => square size (minus (u j) (v j))) <= parts_square true parts w.
Proof.
  intros parts size w u v W N. unfold parts_square, differences. unfold square at 2. rewrite <- sum_times.
  apply sum_le. intros j L. destruct (W j L).
  apply shares_apart; auto; intros c C; now apply N.
Qed.
