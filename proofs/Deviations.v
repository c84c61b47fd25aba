(** Records that count by how they differ from a public centre. *)

From Coq Require Import ZArith Lia List Psatz.
From Proofs Require Import Sums Sensitivity.
Import ListNotations.
Open Scope Z_scope.

(** * Sums of deviations *)

(** The centre is subtracted first, and what is left is clipped: so wherever the centre is, the bound holds. *)
Definition centred (h c x : Z) : Z := clip h (x - c).

Definition centred_record (h c x : vector) : vector := fun j => centred (h j) (c j) (x j).

Lemma all_centred : forall size h c records, (forall j, (j < size)%nat -> 0 <= h j) ->
  Forall (in_box size h) (map (centred_record h c) records).
Proof.
  intros size h c records N. apply Forall_forall. intros v I. apply in_map_iff in I.
  destruct I as [x [<- _]]. intros j L. specialize (N j L). unfold centred_record, centred, clip. lia.
Qed.

Lemma map_replaced : forall f a b, replace_one a b -> replace_one (map f a) (map f b).
Proof. intros f a b N. destruct N. rewrite !map_app. apply Replaced. Qed.

Lemma map_added : forall f a b, add_remove a b -> add_remove (map f a) (map f b).
Proof. intros f a b N. destruct N; rewrite !map_app; [apply Added|apply Removed]. Qed.

Theorem centred_replace : forall size h c a b, (forall j, (j < size)%nat -> 0 <= h j) -> replace_one a b ->
  in_box size (fun j => differences true (h j))
    (minus (total (map (centred_record h c) a)) (total (map (centred_record h c) b))).
Proof.
  intros size h c a b N R.
  apply box_replace; [apply all_centred; exact N|apply all_centred; exact N|now apply map_replaced].
Qed.

Theorem centred_add : forall size h c a b, (forall j, (j < size)%nat -> 0 <= h j) -> add_remove a b ->
  in_box size (fun j => differences false (h j))
    (minus (total (map (centred_record h c) a)) (total (map (centred_record h c) b))).
Proof.
  intros size h c a b N R.
  apply box_add; [apply all_centred; exact N|apply all_centred; exact N|now apply map_added].
Qed.

(** Nothing is lost of records within h of the centre: their sum is that of the deviations and n times it. *)
Theorem centred_total : forall h c records j,
  Forall (fun x : vector => Z.abs (x j - c j) <= h j) records ->
  total (map (centred_record h c) records) j + Z.of_nat (length records) * c j = total records j.
Proof.
  intros h c records j F. induction F as [|x records X F IH]; [simpl; lia|].
  cbn [map total]. unfold centred_record at 1, centred. rewrite clip_inside by exact X.
  replace (Z.of_nat (length (x :: records))) with (Z.of_nat (length records) + 1) by (simpl length; lia). lia.
Qed.

(** * The length of a deviation *)

(** Twice how far a value between bounds may be from a centre, which may lie anywhere. *)
Definition reach (lower upper c : Z) : Z := (upper - lower) + Z.abs (2 * c - (lower + upper)).

Theorem reach_holds : forall lower upper c x, lower <= x <= upper -> 2 * Z.abs (x - c) <= reach lower upper c.
Proof. unfold reach. lia. Qed.

(** It is no larger than needed. *)
Theorem reach_attained : forall lower upper c, lower <= upper ->
  reach lower upper c = 2 * Z.abs (lower - c) \/ reach lower upper c = 2 * Z.abs (upper - c).
Proof. unfold reach. lia. Qed.

(** Lengths with weights of points, which are not negative: squares, four times. *)
Definition weighted_square (size : nat) (w v : vector) : Z := sum size (fun k => w k * (v k * v k)).

Theorem deviation_length : forall size w lower upper c x,
  (forall k, (k < size)%nat -> 0 <= w k /\ lower k <= x k <= upper k) ->
  4 * weighted_square size w (minus x c) <= weighted_square size w (fun k => reach (lower k) (upper k) (c k)).
Proof.
  intros size w lower upper c x B. unfold weighted_square. rewrite <- sum_times. apply sum_le. intros k L.
  destruct (B k L) as [W X]. pose proof (reach_holds _ _ (c k) _ X) as H. unfold minus.
  set (r := reach (lower k) (upper k) (c k)) in *. clearbody r. set (d := x k - c k) in *. clearbody d.
  assert (4 * (d * d) <= r * r) by nia. nia.
Qed.

(** * Pairs of units *)

(** Neighbours in an order that was drawn without a look at the data; an odd unit is left out. *)
Fixpoint pairs (units : list vector) : list vector :=
  match units with
  | [] => []
  | x :: rest =>
    match rest with
    | [] => []
    | y :: others => minus x y :: pairs others
    end
  end.

Lemma replace_one_cons : forall (x : vector) a b, replace_one a b -> replace_one (x :: a) (x :: b).
Proof. intros x a b N. destruct N as [before unit other after]. apply (Replaced (x :: before)). Qed.

(** A unit in the place of another changes one pair, or none. *)
Theorem pairs_replace : forall a b, replace_one a b -> pairs a = pairs b \/ replace_one (pairs a) (pairs b).
Proof.
  intros a b N. destruct N as [before unit other after].
  assert (Short : forall n before, (length before <= n)%nat ->
    pairs (before ++ unit :: after) = pairs (before ++ other :: after)
    \/ replace_one (pairs (before ++ unit :: after)) (pairs (before ++ other :: after))).
  { clear before. induction n as [|n IH]; intros before L.
    - destruct before; [|simpl in L; lia]. destruct after as [|y after]; [now left|].
      right. apply (Replaced []).
    - destruct before as [|x before].
      + destruct after as [|y after]; [now left|]. right. apply (Replaced []).
      + destruct before as [|y before].
        * right. apply (Replaced []).
        * cbn [app pairs]. destruct (IH before) as [E|R]; [simpl in L; lia| |].
          -- left. now rewrite E.
          -- right. now apply replace_one_cons. }
  exact (Short (length before) before (le_n _)).
Qed.

(** Two records between the same bounds: the square of their difference, over 2, is at most that of 2^(1/2)
    half-distances. *)
Theorem pair_length : forall size w lower upper x y,
  (forall k, (k < size)%nat -> 0 <= w k /\ lower k <= x k <= upper k /\ lower k <= y k <= upper k) ->
  weighted_square size w (minus x y) <= weighted_square size w (fun k => upper k - lower k).
Proof.
  intros size w lower upper x y B. unfold weighted_square. apply sum_le. intros k L.
  destruct (B k L) as [W [X Y]]. unfold minus.
  assert ((x k - y k) * (x k - y k) <= (upper k - lower k) * (upper k - lower k)) by nia. nia.
Qed.

(** Sums of outer products of pairs, each clipped to a ball by whatever rule: squares of differences are
    those of one record's outer product. *)
Fixpoint outer_total (records : list vector) (i j : nat) : Z :=
  match records with
  | [] => 0
  | c :: rest => outer c c i j + outer_total rest i j
  end.

Lemma outer_total_app : forall a b i j, outer_total (a ++ b) i j = outer_total a i j + outer_total b i j.
Proof. induction a; intros; cbn [app outer_total]; [|rewrite IHa]; lia. Qed.

Lemma frobenius_ext : forall size m n, (forall i j, m i j = n i j) -> frobenius_square size m = frobenius_square size n.
Proof.
  intros size m n E. unfold frobenius_square. apply sum_ext. intros i _. apply sum_ext. intros j _. now rewrite E.
Qed.

Theorem paired_outer_replace : forall size radius (clipped : vector -> vector) a b,
  (forall v, in_l2 size radius (clipped v)) -> replace_one a b ->
  frobenius_square size (fun i j => outer_total (map clipped (pairs a)) i j - outer_total (map clipped (pairs b)) i j)
    <= outer_square true (Z.of_nat size) (radius * radius).
Proof.
  intros size radius clipped a b C N. destruct (pairs_replace a b N) as [E|R].
  - rewrite E, (frobenius_ext _ _ (fun _ _ => 0)) by (intros; lia).
    unfold frobenius_square. rewrite (sum_ext _ _ (fun _ => 0)) by (intros; apply sum_zero).
    rewrite sum_zero. unfold outer_square.
    assert (0 <= (radius * radius) * (radius * radius)) by apply Z.square_nonneg.
    destruct (1 <? Z.of_nat size); lia.
  - destruct R as [before unit other after].
    rewrite (frobenius_ext _ _ (fun i j =>
      outer (clipped unit) (clipped unit) i j - outer (clipped other) (clipped other) i j)).
    + apply outer_replace; apply C.
    + intros i j. rewrite !map_app, !outer_total_app. cbn [map outer_total]. lia.
Qed.
