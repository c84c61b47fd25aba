(** What a unit of several rows adds: the average of their integers, rounded down.

    An average lies where single rows lie; rounding down moves each entry by less than one more, for
    which the width has room. *)

From Coq Require Import ZArith Lia List Psatz.
From Proofs Require Import Sums Sensitivity.
Import ListNotations.
Open Scope Z_scope.

Definition average (rows : list vector) : vector := fun j => total rows j / Z.of_nat (length rows).

(** How far neighbouring sums are apart in all blocks together, each of so many entries. *)
Definition averages_width (replaced : bool) (radius blocks size : Z) : Z :=
  differences replaced radius + blocks * root_up size.

(** ** Boxes: no room is needed, as their ends are integers. *)

Lemma total_in_box : forall h rows j, Forall (fun row : vector => Z.abs (row j) <= h) rows ->
  Z.abs (total rows j) <= Z.of_nat (length rows) * h.
Proof.
  intros h rows j F. induction F as [|row rows R F IH]; [simpl; lia|].
  cbn [total]. replace (Z.of_nat (length (row :: rows))) with (Z.of_nat (length rows) + 1) by (simpl length; lia).
  lia.
Qed.

Theorem average_in_box : forall size h rows, rows <> [] -> Forall (in_box size h) rows ->
  in_box size h (average rows).
Proof.
  intros size h rows N F j L. unfold average.
  assert (0 < Z.of_nat (length rows)) by (destruct rows; [easy|simpl length; lia]).
  pose proof (total_in_box (h j) rows j) as T.
  assert (Z.abs (total rows j) <= Z.of_nat (length rows) * h j).
  { apply T. eapply Forall_impl; [|exact F]. intros row R. exact (R j L). }
  pose proof (Z.div_le_upper_bound (total rows j) (Z.of_nat (length rows)) (h j)).
  pose proof (Z.div_le_lower_bound (total rows j) (Z.of_nat (length rows)) (- h j)). lia.
Qed.

(** ** Lengths *)

Lemma in_l2_nothing : forall size v, in_l2 size 0 v -> forall j, (j < size)%nat -> v j = 0.
Proof.
  unfold in_l2, square. intros size v V j L.
  pose proof (sum_one_le size (fun k => v k * v k) j ltac:(intros; nia) L). cbv beta in *. nia.
Qed.

Lemma in_l2_same : forall size r v w, (forall j, (j < size)%nat -> v j = w j) -> in_l2 size r v -> in_l2 size r w.
Proof.
  unfold in_l2, square. intros size r v w E V. rewrite (sum_ext size _ (fun j => v j * v j)); [exact V|].
  intros j L. now rewrite E.
Qed.

(** The triangle inequality. *)
Lemma in_l2_plus : forall size a b v w, 0 <= a -> 0 <= b -> in_l2 size a v -> in_l2 size b w ->
  in_l2 size (a + b) (fun j => v j + w j).
Proof.
  intros size a b v w A B V W.
  destruct (Z.eq_dec a 0) as [->|].
  { apply in_l2_same with (v := w); [|exact W]. intros j L. rewrite (in_l2_nothing size v V j L). lia. }
  destruct (Z.eq_dec b 0) as [->|].
  { apply in_l2_same with (v := v); [|now rewrite Z.add_0_r].
    intros j L. rewrite (in_l2_nothing size w W j L). lia. }
  unfold in_l2, square in *.
  assert (a * b * sum size (fun j => (v j + w j) * (v j + w j))
    <= (a + b) * b * sum size (fun j => v j * v j) + (a + b) * a * sum size (fun j => w j * w j)).
  { rewrite <- !sum_times, <- sum_plus. apply sum_le. intros j _.
    pose proof (Z.square_nonneg (b * v j - a * w j)). nia. }
  apply Z.mul_le_mono_pos_l with (p := a * b); [nia|].
  assert ((a + b) * b * sum size (fun j => v j * v j) <= (a + b) * b * (a * a)) by (apply Z.mul_le_mono_nonneg_l; nia).
  assert ((a + b) * a * sum size (fun j => w j * w j) <= (a + b) * a * (b * b)) by (apply Z.mul_le_mono_nonneg_l; nia).
  nia.
Qed.

Lemma in_l2_times : forall size a c v, 0 <= c -> in_l2 size a v -> in_l2 size (c * a) (fun j => c * v j).
Proof.
  unfold in_l2, square. intros size a c v C V.
  rewrite (sum_ext size _ (fun j => (c * c) * (v j * v j))) by (intros; lia). rewrite sum_times. nia.
Qed.

Lemma in_l2_divided : forall size a c v, 0 < c -> in_l2 size (c * a) (fun j => c * v j) -> in_l2 size a v.
Proof.
  unfold in_l2, square. intros size a c v C V.
  rewrite (sum_ext size _ (fun j => (c * c) * (v j * v j))) in V by (intros; lia). rewrite sum_times in V. nia.
Qed.

(** Entries of at most c, in all so long. *)
Lemma in_l2_entries : forall size c v, 0 <= c -> (forall j, (j < size)%nat -> Z.abs (v j) <= c) ->
  in_l2 size (c * root_up (Z.of_nat size)) v.
Proof.
  intros size c v C V. unfold in_l2, square.
  apply Z.le_trans with (sum size (fun _ => c * c * 1)).
  - apply sum_le. intros j L. specialize (V j L). nia.
  - rewrite sum_times. replace (sum size (fun _ => 1)) with (Z.of_nat size).
    + pose proof (root_up_enough (Z.of_nat size)). nia.
    + clear. induction size; [reflexivity|]. cbn [sum]. lia.
Qed.

Lemma root_up_not_negative : forall n, 0 <= root_up n.
Proof. intros. unfold root_up. pose proof (Z.sqrt_nonneg (n - 1)). lia. Qed.

(** A sum of p rows and one of q rows, as quotients rounded down, times p q. *)
Lemma quotients_apart : forall size p q a b s t, 0 < p -> 0 < q -> 0 <= a -> 0 <= b ->
  in_l2 size a s -> in_l2 size b t ->
  in_l2 size (q * a + p * b + p * q * root_up (Z.of_nat size)) (fun j => p * q * (s j / p - t j / q)).
Proof.
  intros size p q a b s t P Q A B S T.
  apply in_l2_same with
    (v := fun j => (q * s j + p * - t j) + (p * (t j mod q) - q * (s j mod p))).
  { intros j _. pose proof (Z.div_mod (s j) p ltac:(lia)). pose proof (Z.div_mod (t j) q ltac:(lia)). nia. }
  apply in_l2_plus with (v := fun j => q * s j + p * - t j) (w := fun j => p * (t j mod q) - q * (s j mod p));
    [nia|pose proof (root_up_not_negative (Z.of_nat size)); nia| |].
  - apply in_l2_plus with (v := fun j => q * s j) (w := fun j => p * - t j); [nia|nia| |].
    + apply in_l2_times; [lia|exact S].
    + apply in_l2_times with (v := fun j => - t j); [lia|].
      unfold in_l2, square in *. rewrite (sum_ext size _ (fun j => t j * t j)); [exact T|]. intros. lia.
  - apply in_l2_entries; [nia|]. intros j _.
    pose proof (Z.mod_pos_bound (s j) p P). pose proof (Z.mod_pos_bound (t j) q Q). nia.
Qed.

Lemma quotient_size : forall size p a s, 0 < p -> 0 <= a -> in_l2 size a s ->
  in_l2 size (a + p * root_up (Z.of_nat size)) (fun j => p * (s j / p)).
Proof.
  intros size p a s P A S.
  apply in_l2_same with (v := fun j => s j + - (s j mod p)).
  { intros j _. pose proof (Z.div_mod (s j) p ltac:(lia)). lia. }
  apply in_l2_plus with (w := fun j => - (s j mod p)); [exact A| |exact S|].
  - pose proof (root_up_not_negative (Z.of_nat size)). nia.
  - apply in_l2_entries; [lia|]. intros j _. pose proof (Z.mod_pos_bound (s j) p P). lia.
Qed.

(** A unit has p rows, p_B of them in block B, where they add up to s_B: in all blocks together the
    lengths of what two units add are at most the width apart; all of it times p q, so that it is whole. *)
Theorem averages_replace : forall blocks size radius p q (mine other : vector) (s t : nat -> vector),
  0 < p -> 0 < q -> 0 <= radius -> sum blocks mine = p -> sum blocks other = q ->
  (forall B, (B < blocks)%nat -> 0 <= mine B /\ in_l2 size (mine B * radius) (s B)) ->
  (forall B, (B < blocks)%nat -> 0 <= other B /\ in_l2 size (other B * radius) (t B)) ->
  exists sizes : vector,
    (forall B, (B < blocks)%nat -> in_l2 size (sizes B) (fun j => p * q * (s B j / p - t B j / q))) /\
    sum blocks sizes <= p * q * averages_width true radius (Z.of_nat blocks) (Z.of_nat size).
Proof.
  intros blocks size radius p q mine other s t P Q R Mine Other S T.
  exists (fun B => q * (mine B * radius) + p * (other B * radius) + p * q * root_up (Z.of_nat size)).
  split.
  - intros B L. destruct (S B L), (T B L). apply quotients_apart; auto; nia.
  - unfold averages_width, differences.
    rewrite (sum_ext blocks _ (fun B => (q * radius * mine B + p * radius * other B)
      + p * q * root_up (Z.of_nat size) * 1)) by (intros; lia).
    rewrite !sum_plus, !sum_times, Mine, Other.
    replace (sum blocks (fun _ => 1)) with (Z.of_nat blocks); [lia|].
    clear. induction blocks; [reflexivity|]. cbn [sum]. lia.
Qed.

Theorem averages_add : forall blocks size radius p (mine : vector) (s : nat -> vector),
  0 < p -> 0 <= radius -> sum blocks mine = p ->
  (forall B, (B < blocks)%nat -> 0 <= mine B /\ in_l2 size (mine B * radius) (s B)) ->
  exists sizes : vector,
    (forall B, (B < blocks)%nat -> in_l2 size (sizes B) (fun j => p * (s B j / p))) /\
    sum blocks sizes <= p * averages_width false radius (Z.of_nat blocks) (Z.of_nat size).
Proof.
  intros blocks size radius p mine s P R Mine S.
  exists (fun B => mine B * radius + p * root_up (Z.of_nat size)).
  split.
  - intros B L. destruct (S B L). apply quotient_size; auto; nia.
  - unfold averages_width, differences.
    rewrite (sum_ext blocks _ (fun B => radius * mine B + p * root_up (Z.of_nat size) * 1)) by (intros; lia).
    rewrite sum_plus, !sum_times, Mine.
    replace (sum blocks (fun _ => 1)) with (Z.of_nat blocks); [lia|].
    clear. induction blocks; [reflexivity|]. cbn [sum]. lia.
Qed.

(** One block, from the rows themselves. *)
Theorem averages_apart : forall size radius rows others, 0 <= radius -> rows <> [] -> others <> [] ->
  Forall (in_l2 size radius) rows -> Forall (in_l2 size radius) others ->
  in_l2 size (averages_width true radius 1 (Z.of_nat size)) (minus (average rows) (average others)).
Proof.
  intros size radius rows others R N M F G.
  assert (P : 0 < Z.of_nat (length rows)) by (destruct rows; [easy|simpl length; lia]).
  assert (Q : 0 < Z.of_nat (length others)) by (destruct others; [easy|simpl length; lia]).
  apply rows_of_a_unit in F, G; try exact R.
  pose proof (quotients_apart size _ _ _ _ _ _ P Q 
    (Z.mul_nonneg_nonneg _ _ (Z.lt_le_incl _ _ P) R) (Z.mul_nonneg_nonneg _ _ (Z.lt_le_incl _ _ Q) R) F G) as A.
  set (p := Z.of_nat (length rows)) in *. set (q := Z.of_nat (length others)) in *.
  apply in_l2_divided with (c := p * q); [nia|]. unfold minus, average, averages_width, differences.
  fold p q.
  replace (p * q * (2 * radius + 1 * root_up (Z.of_nat size))) with
    (q * (p * radius) + p * (q * radius) + p * q * root_up (Z.of_nat size)) by ring.
  exact A.
Qed.
