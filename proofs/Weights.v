(** Custodians' sums with weights (`publication/shares.py`): totals times a factor p / q, rounded to integers. *)

From Coq Require Import ZArith Lia List Psatz.
From Proofs Require Import Sums Sensitivity Corners.
Open Scope Z_scope.

(** The nearest integer to t p / q, and the width that a weight a / b leaves: its ceiling less one. *)
Definition weighed (p q t : Z) : Z := (2 * p * t + q) / (2 * q).
Definition weighed_width (a b width : Z) : Z := Z.max (count_scale width b a - 1) 0.

Lemma weighed_moves : forall p q x y, 0 <= p -> 0 < q ->
  q * Z.abs (weighed p q x - weighed p q y) < p * Z.abs (x - y) + q.
Proof.
  intros p q x y P Q. unfold weighed.
  pose proof (Z.div_mod (2 * p * x + q) (2 * q) ltac:(lia)). pose proof (Z.mod_pos_bound (2 * p * x + q) (2 * q) ltac:(lia)).
  pose proof (Z.div_mod (2 * p * y + q) (2 * q) ltac:(lia)). pose proof (Z.mod_pos_bound (2 * p * y + q) (2 * q) ltac:(lia)).
  set (e := (2 * p * x + q) / (2 * q)) in *. set (f := (2 * p * y + q) / (2 * q)) in *.
  replace (p * Z.abs (x - y)) with (Z.abs (p * x - p * y)) by (rewrite <- Z.mul_sub_distr_l, Z.abs_mul; lia).
  replace (q * Z.abs (e - f)) with (Z.abs (q * e - q * f)) by (rewrite <- Z.mul_sub_distr_l, Z.abs_mul; lia). lia.
Qed.

(** That width is below the weight times what a unit moves without it. *)
Theorem width_below : forall a b width, 0 < a -> 0 < b -> 0 < width -> b * weighed_width a b width < a * width.
Proof.
  intros a b width A B W. unfold weighed_width, count_scale.
  pose proof (Z.mul_div_le (- (width * a)) b B). pose proof (Z.mod_pos_bound (- (width * a)) b B).
  pose proof (Z.div_mod (- (width * a)) b ltac:(lia)). nia.
Qed.

(** A coordinate of a box. *)
Theorem weighed_box : forall p q width allowed x y, 0 <= p -> 0 < q -> p * width <= q * (allowed - 1) ->
  Z.abs (x - y) <= width -> Z.abs (weighed p q x - weighed p q y) <= allowed.
Proof.
  intros p q width allowed x y P Q F D. pose proof (weighed_moves p q x y P Q).
  assert (p * Z.abs (x - y) <= p * width) by (apply Z.mul_le_mono_nonneg_l; assumption). nia.
Qed.

Theorem weighed_l1 : forall size p q width allowed (x y : vector), 0 <= p -> 0 < q ->
  p * width <= q * (allowed - Z.of_nat size) -> in_l1 size width (minus x y) ->
  in_l1 size allowed (minus (fun j => weighed p q (x j)) (fun j => weighed p q (y j))).
Proof.
  intros size p q width allowed x y P Q F D. unfold in_l1, size1 in *.
  set (e := minus (fun j => weighed p q (x j)) (fun j => weighed p q (y j))).
  assert (S : q * sum size (fun j => Z.abs (e j)) <= p * sum size (fun j => Z.abs (minus x y j)) + q * Z.of_nat size).
  { clear F D. induction size; [simpl; lia|]. cbn [sum]. pose proof (weighed_moves p q (x size) (y size) P Q).
    unfold e, minus in *. nia. }
  assert (p * sum size (fun j => Z.abs (minus x y j)) <= p * width) by (apply Z.mul_le_mono_nonneg_l; assumption). nia.
Qed.

(** Room for rounding in l2: the root of the number of coordinates, rounded down, and one. *)
Theorem weighed_l2 : forall size p q width allowed (x y : vector), 0 <= p -> 0 < q -> 0 <= width ->
  p * width <= q * (allowed - (Z.sqrt (Z.of_nat size) + 1)) -> in_l2 size width (minus x y) ->
  in_l2 size allowed (minus (fun j => weighed p q (x j)) (fun j => weighed p q (y j))).
Proof.
  intros size p q width allowed x y P Q W F D. unfold in_l2, square in *.
  set (e := minus (fun j => weighed p q (x j)) (fun j => weighed p q (y j))). set (d := minus x y) in *.
  set (k := Z.of_nat size). set (r := Z.sqrt k + 1).
  assert (R : k <= r * r /\ 0 <= r).
  { unfold r. pose proof (Z.sqrt_spec k ltac:(lia)). pose proof (Z.sqrt_nonneg k). unfold Z.succ in *. lia. }
  set (t := sum size (fun j => Z.abs (d j))). set (s := sum size (fun j => d j * d j)) in *.
  assert (T : q * q * sum size (fun j => e j * e j) <= p * p * s + 2 * (p * q) * t + q * q * k).
  { unfold s, t, k. clear - P Q. induction size; [simpl; lia|]. cbn [sum].
    pose proof (weighed_moves p q (x size) (y size) P Q) as M.
    assert (E : (q * e size) * (q * e size) <= (p * Z.abs (d size) + q) * (p * Z.abs (d size) + q)).
    { replace ((q * e size) * (q * e size)) with ((q * Z.abs (e size)) * (q * Z.abs (e size))).
      - apply Z.square_le_mono_nonneg; [apply Z.mul_nonneg_nonneg; lia|]. unfold e, d, minus. lia.
      - replace ((q * Z.abs (e size)) * (q * Z.abs (e size))) with (q * q * (Z.abs (e size) * Z.abs (e size))) by ring.
        rewrite Z.abs_square. ring. }
    rewrite Nat2Z.inj_succ. unfold Z.succ.
    replace ((p * Z.abs (d size) + q) * (p * Z.abs (d size) + q))
      with (p * p * (Z.abs (d size) * Z.abs (d size)) + 2 * (p * q) * Z.abs (d size) + q * q) in E by ring.
    rewrite Z.abs_square in E. nia. }
  assert (C : t * t <= k * s).
  { unfold t, s, k. clear. induction size; [simpl; lia|]. cbn [sum]. rewrite Nat2Z.inj_succ. unfold Z.succ.
    set (t := sum size (fun j => Z.abs (d j))) in *. set (s := sum size (fun j => d j * d j)) in *.
    rewrite <- (Z.abs_square (d size)).
    set (z := Z.abs (d size)) in *. set (n := Z.of_nat size) in *. assert (0 <= n) by lia.
    assert (S0 : 0 <= s) by (unfold s; apply sum_not_negative; intros; apply Z.square_nonneg).
    clearbody t s z n. destruct (Z.eq_dec n 0) as [->|]; [assert (t = 0) by nia; subst; nia|].
    assert (0 <= (n * z - t) * (n * z - t)) by apply Z.square_nonneg. assert (2 * t * z <= n * (z * z) + s) by nia. nia. }
  assert (T0 : 0 <= t) by (apply sum_not_negative; intros; apply Z.abs_nonneg).
  assert (B : t <= r * width).
  { apply Z.square_le_simpl_nonneg; [apply Z.mul_nonneg_nonneg; lia|]. apply Z.le_trans with (1 := C).
    replace (r * width * (r * width)) with (r * r * (width * width)) by ring.
    apply Z.mul_le_mono_nonneg; try lia. apply sum_not_negative. intros. apply Z.square_nonneg. }
  assert (H : q * q * sum size (fun j => e j * e j) <= (p * width + q * r) * (p * width + q * r)).
  { apply Z.le_trans with (1 := T).
    assert (p * p * s <= p * p * (width * width)) by (apply Z.mul_le_mono_nonneg_l; [apply Z.square_nonneg|exact D]).
    assert (2 * (p * q) * t <= 2 * (p * q) * (r * width)) by (apply Z.mul_le_mono_nonneg_l; [apply Z.mul_nonneg_nonneg; [lia|apply Z.mul_nonneg_nonneg; lia]|exact B]).
    assert (q * q * k <= q * q * (r * r)) by (apply Z.mul_le_mono_nonneg_l; [apply Z.square_nonneg|apply R]).
    replace ((p * width + q * r) * (p * width + q * r)) with (p * p * (width * width) + 2 * (p * q) * (r * width) + q * q * (r * r)) by ring.
    apply Z.add_le_mono; [apply Z.add_le_mono; assumption|assumption]. }
  assert (G : p * width + q * r <= q * allowed) by (unfold r, k; lia).
  assert (L : (p * width + q * r) * (p * width + q * r) <= (q * allowed) * (q * allowed)) 
    by (apply Z.square_le_mono_nonneg; [apply Z.add_nonneg_nonneg; apply Z.mul_nonneg_nonneg; lia|exact G]).
  apply Z.mul_le_mono_pos_l with (q * q); [apply Z.mul_pos_pos; lia|]. replace (q * q * (allowed * allowed)) with (q * allowed * (q * allowed)) by ring. lia.
Qed.
