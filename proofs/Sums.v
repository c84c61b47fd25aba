(** Sums over the coordinates 0, .., size - 1 of integer vectors, and what is needed of them. *)

From Coq Require Import ZArith Lia List.
Open Scope Z_scope.

(** A vector gives each coordinate an integer; its size is written beside it. *)
Definition vector := nat -> Z.

Fixpoint sum (size : nat) (v : vector) : Z :=
  match size with
  | O => 0
  | S rest => sum rest v + v rest
  end.

Definition size1 (size : nat) (v : vector) : Z := sum size (fun j => Z.abs (v j)).
Definition square (size : nat) (v : vector) : Z := sum size (fun j => v j * v j).
Definition minus (v w : vector) : vector := fun j => v j - w j.

Lemma sum_ext : forall size v w, (forall j, (j < size)%nat -> v j = w j) -> sum size v = sum size w.
Proof. induction size; simpl; intros; auto. rewrite (IHsize v w), H; auto. Qed.

Lemma sum_le : forall size v w, (forall j, (j < size)%nat -> v j <= w j) -> sum size v <= sum size w.
Proof.
  induction size; simpl; intros; [lia|].
  assert (sum size v <= sum size w) by auto.
  assert (v size <= w size) by auto. lia.
Qed.

Lemma sum_not_negative : forall size v, (forall j, (j < size)%nat -> 0 <= v j) -> 0 <= sum size v.
Proof.
  induction size; simpl; intros; [lia|].
  assert (0 <= sum size v) by auto. assert (0 <= v size) by auto. lia.
Qed.

Lemma sum_plus : forall size v w, sum size (fun j => v j + w j) = sum size v + sum size w.
Proof. induction size; simpl; intros; [|rewrite IHsize]; lia. Qed.

Lemma sum_minus : forall size v w, sum size (fun j => v j - w j) = sum size v - sum size w.
Proof. induction size; simpl; intros; [|rewrite IHsize]; lia. Qed.

Lemma sum_times : forall size c v, sum size (fun j => c * v j) = c * sum size v.
Proof. induction size; simpl; intros; [|rewrite IHsize]; lia. Qed.

Lemma sum_zero : forall size, sum size (fun _ => 0) = 0.
Proof. induction size; simpl; lia. Qed.

Lemma sum_swap : forall n m f,
  sum n (fun i => sum m (fun j => f i j)) = sum m (fun j => sum n (fun i => f i j)).
Proof.
  induction n; simpl; intros.
  - now rewrite sum_zero.
  - rewrite IHn, <- sum_plus. now apply sum_ext.
Qed.

Lemma sum_one_le : forall size v j, (forall k, (k < size)%nat -> 0 <= v k) -> (j < size)%nat -> v j <= sum size v.
Proof.
  induction size; simpl; intros v j N L; [lia|].
  assert (0 <= sum size v) by (apply sum_not_negative; auto).
  assert (0 <= v size) by auto.
  destruct (Nat.eq_dec j size) as [->|]; [lia|].
  assert (v j <= sum size v) by (apply IHsize; [auto|lia]). lia.
Qed.

Lemma size1_not_negative : forall size v, 0 <= size1 size v.
Proof. intros. apply sum_not_negative. intros. lia. Qed.

Lemma square_not_negative : forall size v, 0 <= square size v.
Proof. intros. apply sum_not_negative. intros. nia. Qed.
