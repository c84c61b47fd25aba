(** The ledger as a machine of states: whatever is killed when, no more than the budget is spent.

    One data set's rows in one file, as `privacy/ledger/lines.py` and `file.py` write them. A charge
    locks the file, reads it, compares, writes its row, writes a count of rows, and returns; only then
    is noise drawn. At any moment the process may be killed, also in the middle of a row or of a count.

    Assumed: the operating system gives the lock to one process at a time; what was written to the disk
    stays there until it is damaged; a row or a count of which only a part was written does not pass its
    digest. Amounts add up by sums; for charges under a filter see Filter.v. *)

From Coq Require Import QArith Lqa List Lia Bool Arith.
Import ListNotations.
Open Scope Q_scope.

(** * Amounts: epsilon and delta, or rho and zero *)

Record amount := Amount { first_value : Q; second_value : Q }.

Definition zero : amount := Amount 0 0.
Definition plus (a b : amount) : amount :=
  Amount (first_value a + first_value b) (second_value a + second_value b).

(** None of its values is larger. *)
Definition within (a b : amount) : Prop :=
  first_value a <= first_value b /\ second_value a <= second_value b.

(** * The file *)

(** A row tells what it costs, and the budget in force: a charge costs something, an enlargement nothing. *)
Record row := Row { cost : amount; budget : amount }.

(** Two counts of the rows, each of which may be torn; they are overwritten in turn. *)
Record file := File { rows : list row; count_1 : option nat; count_2 : option nat }.

Fixpoint spent (l : list row) : amount :=
  match l with
  | [] => zero
  | r :: rest => plus (cost r) (spent rest)
  end.

Fixpoint in_force (l : list row) (before : amount) : amount :=
  match l with
  | [] => before
  | r :: rest => in_force rest (budget r)
  end.

(** What is read: nothing, unless counts and rows agree. One count alone must have a row beyond it. *)
Definition readable (f : file) : Prop :=
  match count_1 f, count_2 f with
  | Some a, Some b => (a <= length (rows f) /\ b <= length (rows f))%nat
  | Some a, None | None, Some a => (a < length (rows f))%nat
  | None, None => False
  end.

(** Both counts are sound and the higher covers all rows. *)
Definition covered (f : file) : Prop :=
  match count_1 f, count_2 f with
  | Some a, Some b => Nat.max a b = length (rows f)
  | _, _ => False
  end.

(** Overwrite the older count, with a sound one or with a torn one. *)
Definition counted (f : file) (c : option nat) : file :=
  match count_1 f, count_2 f with
  | None, other => File (rows f) c other
  | other, None => File (rows f) other c
  | Some a, Some b => if (a <=? b)%nat then File (rows f) c (Some b) else File (rows f) (Some a) c
  end.

(** * The machine *)

(** How far the process that has the lock has come. *)
Inductive phase := Reading | Allowed (r : row) | Written (r : row) | Counted (r : row).

(** [released] is what the callers who were told so may draw noise for; [told] is how many rows there
    were when the last of them was. *)
Record state := State { disk : file; holder : option phase; released : amount; told : nat }.

(** A row is allowed if what is spent with it stays within its budget, which is the one in force or larger. *)
Definition allowed (whole : amount) (f : file) (r : row) : Prop :=
  within zero (cost r) /\ within (plus (spent (rows f)) (cost r)) (budget r)
  /\ within (in_force (rows f) whole) (budget r).

Inductive step (whole : amount) : state -> state -> Prop :=
  | Open : forall f x n, readable f ->
      step whole (State f None x n) (State f (Some Reading) x n)
  | Recount_torn : forall f x n, ~ covered f ->
      step whole (State f (Some Reading) x n) (State (counted f None) (Some Reading) x n)
  | Recount : forall f x n, ~ covered f ->
      step whole (State f (Some Reading) x n)
        (State (counted f (Some (length (rows f)))) (Some Reading) x n)
  | Allow : forall f r x n, covered f -> allowed whole f r ->
      step whole (State f (Some Reading) x n) (State f (Some (Allowed r)) x n)
  | Write : forall f r x n,
      step whole (State f (Some (Allowed r)) x n)
        (State (File (rows f ++ [r]) (count_1 f) (count_2 f)) (Some (Written r)) x n)
  | Count_torn : forall f r x n,
      step whole (State f (Some (Written r)) x n) (State (counted f None) (Some (Written r)) x n)
  | Count : forall f r x n,
      step whole (State f (Some (Written r)) x n)
        (State (counted f (Some (length (rows f)))) (Some (Counted r)) x n)
  | Tell : forall f r x n,
      step whole (State f (Some (Counted r)) x n)
        (State f None (plus x (cost r)) (length (rows f)))
  | Kill : forall f p x n, step whole (State f (Some p) x n) (State f None x n).

Inductive reachable (whole : amount) : state -> Prop :=
  | Created : within zero whole -> reachable whole (State (File [] (Some O) (Some O)) None zero O)
  | Stepped : forall s t, reachable whole s -> step whole s t -> reachable whole t.

(** * What is true in every state *)

Lemma spent_app : forall l r, first_value (spent (l ++ [r])) == first_value (spent l) + first_value (cost r)
  /\ second_value (spent (l ++ [r])) == second_value (spent l) + second_value (cost r).
Proof. induction l as [|h l IH]; intros r; simpl; [|destruct (IH r)]; split; lra. Qed.

Lemma in_force_app : forall l r w, in_force (l ++ [r]) w = budget r.
Proof. induction l; simpl; auto. Qed.

(** The highest number of rows that a reading of this file, or of what is left of it, must find. *)
Definition covers (f : file) (n : nat) : Prop :=
  match count_1 f, count_2 f with
  | Some a, Some b => (n <= Nat.max a b)%nat
  | Some a, None | None, Some a => (n <= a + 1)%nat
  | None, None => False
  end.

(** Sound counts are below a number. *)
Definition counts_below (f : file) (n : nat) : Prop :=
  match count_1 f, count_2 f with
  | Some a, Some b => (a < n /\ b < n)%nat
  | Some a, None | None, Some a => (a < n)%nat
  | None, None => False
  end.

Record sound (whole : amount) (s : state) : Prop := Sound {
  not_negative : Forall (fun r => within zero (cost r)) (rows (disk s));
  in_budget : within (spent (rows (disk s))) (in_force (rows (disk s)) whole);
  told_rows : (told s <= length (rows (disk s)))%nat;
  told_covered : covers (disk s) (told s);
  told_paid : within (released s) (spent (firstn (told s) (rows (disk s))));
  always_readable : readable (disk s);
  by_phase : match holder s with
    | Some (Allowed r) => covered (disk s) /\ allowed whole (disk s) r
    | Some (Written r) => counts_below (disk s) (length (rows (disk s)))
        /\ exists before, rows (disk s) = before ++ [r] /\ (told s <= length before)%nat
    | Some (Counted r) => covered (disk s)
        /\ exists before, rows (disk s) = before ++ [r] /\ (told s <= length before)%nat
    | _ => True
    end }.

Lemma rows_counted : forall f c, rows (counted f c) = rows f.
Proof. intros [l [a|] [b|]] c; unfold counted; simpl; auto. destruct (a <=? b)%nat; auto. Qed.

Lemma counted_torn_covers : forall f n, covers f n -> covers (counted f None) n.
Proof.
  intros [l [a|] [b|]] n; unfold counted, covers; simpl; try lia.
  destruct (Nat.leb_spec a b); simpl; lia.
Qed.

Lemma counted_torn_below : forall f n, counts_below f n -> counts_below (counted f None) n.
Proof.
  intros [l [a|] [b|]] n; unfold counted, counts_below; simpl; try lia.
  destruct (Nat.leb_spec a b); simpl; lia.
Qed.

Lemma counted_sound : forall f, readable f -> covered (counted f (Some (length (rows f)))).
Proof.
  intros [l [a|] [b|]]; unfold counted, covered, readable; simpl; try lia.
  destruct (Nat.leb_spec a b); simpl; lia.
Qed.

Lemma covered_covers : forall f n, covered f -> (n <= length (rows f))%nat -> covers f n.
Proof. intros [l [a|] [b|]] n; unfold covered, covers; simpl; try lia; tauto. Qed.

Lemma covered_readable : forall f, covered f -> readable f.
Proof. intros [l [a|] [b|]]; unfold covered, readable; simpl; try tauto; lia. Qed.

Lemma below_readable : forall f, counts_below f (length (rows f)) -> readable f.
Proof. intros [l [a|] [b|]]; unfold counts_below, readable; simpl; try tauto; lia. Qed.

Lemma uncovered_below : forall f, readable f -> ~ covered f -> counts_below f (length (rows f)).
Proof.
  intros [l [a|] [b|]]; unfold readable, covered, counts_below; simpl; try tauto. lia.
Qed.

Lemma spent_firstn_le : forall l n, Forall (fun r => within zero (cost r)) l ->
  within (spent (firstn n l)) (spent l).
Proof.
  unfold within. induction l as [|r l IH]; intros [|n] F; simpl; try (split; lra).
  - apply Forall_cons_iff in F. destruct F as [R F]. destruct (IH O F) as [A B]. simpl in *.
    unfold within in R. simpl in R. split; lra.
  - apply Forall_cons_iff in F. destruct F as [R F]. destruct (IH n F). split; lra.
Qed.

Lemma step_sound : forall whole s t, sound whole s -> step whole s t -> sound whole t.
Proof.
  intros whole s t S St. destruct S as [N I T C P R B]. destruct St; simpl in *;
  constructor; simpl; rewrite ?rows_counted; auto.
  - apply counted_torn_covers; auto.
  - apply below_readable. rewrite rows_counted. apply counted_torn_below, uncovered_below; auto.
  - apply covered_covers; [apply counted_sound; auto|rewrite rows_counted; auto].
  - apply covered_readable, counted_sound; auto.
  - (* Write *) apply Forall_app. split; [auto|]. constructor; [apply B|constructor].
  - destruct B as [_ [_ [W _]]]. rewrite in_force_app. unfold within in *. simpl in *.
    destruct (spent_app (rows f) r). split; lra.
  - rewrite app_length. simpl. lia.
  - rewrite firstn_app. replace (n - length (rows f))%nat with O by lia. simpl.
    rewrite app_nil_r. exact P.
  - destruct B as [Cov _]. destruct f as [l [a|] [b|]]; unfold covered, readable in *; simpl in *; try tauto.
    rewrite app_length. simpl. lia.
  - split.
    + destruct B as [Cov _]. destruct f as [l [a|] [b|]]; unfold covered, counts_below in *; simpl in *; try tauto.
      rewrite app_length. simpl. lia.
    + exists (rows f). auto.
  - apply counted_torn_covers; auto.
  - apply below_readable. rewrite rows_counted. apply counted_torn_below, B.
  - destruct B as [Below E]. split; [apply counted_torn_below; auto|auto].
  - apply covered_covers; [apply counted_sound; auto|rewrite rows_counted; auto].
  - apply covered_readable, counted_sound; auto.
  - destruct B as [Below E]. split; [apply counted_sound; auto|auto].
  - (* Tell *) apply covered_covers; [apply B|auto].
  - destruct B as [_ [before [E L]]]. rewrite firstn_all. rewrite E in *.
    rewrite firstn_app in P. replace (n - length before)%nat with O in P by lia.
    simpl in P. rewrite app_nil_r in P.
    assert (F : Forall (fun r => within zero (cost r)) before) by (apply Forall_app in N; apply N).
    pose proof (spent_firstn_le before n F). destruct (spent_app before r).
    unfold within in *. simpl in *. split; lra.
Qed.

Theorem every_state_is_sound : forall whole s, reachable whole s -> sound whole s.
Proof.
  intros whole s Re. induction Re as [W|s t Re IH St]; [|eapply step_sound; eauto].
  constructor; simpl; unfold readable, covers, within in *; simpl; auto; try lia; split; lra.
Qed.

(** * The theorems *)

(** What was charged is never over the budget in force. *)
Theorem never_over : forall whole s, reachable whole s ->
  within (spent (rows (disk s))) (in_force (rows (disk s)) whole).
Proof. intros whole s Re. apply (in_budget whole s (every_state_is_sound whole s Re)). Qed.

(** Nor is what callers may draw noise for, whoever was killed on the way: all of it is charged. *)
Theorem noise_is_paid : forall whole s, reachable whole s ->
  within (released s) (spent (rows (disk s))).
Proof.
  intros whole s Re. destruct (every_state_is_sound whole s Re) as [N _ _ _ P _ _].
  pose proof (spent_firstn_le _ (told s) N). unfold within in *. split; lra.
Qed.

(** A kill leaves a file that can be read. *)
Theorem a_kill_leaves_it_readable : forall whole s, reachable whole s -> readable (disk s).
Proof. intros whole s Re. apply (always_readable whole s (every_state_is_sound whole s Re)). Qed.

(** A file that lost its last rows is refused, unless those who may draw noise are still charged in it. *)
Theorem losses_are_refused : forall whole s kept, reachable whole s ->
  let lost := File (firstn kept (rows (disk s))) (count_1 (disk s)) (count_2 (disk s)) in
  readable lost -> within (released s) (spent (rows lost)).
Proof.
  intros whole s kept Re lost Read. subst lost. simpl in *.
  destruct (every_state_is_sound whole s Re) as [N _ T C P _ _].
  assert (L : (told s <= kept)%nat).
  { assert ((length (firstn kept (rows (disk s))) <= kept)%nat) by (rewrite firstn_length; lia).
    unfold readable in Read. unfold covers in C. simpl in Read.
    destruct (count_1 (disk s)), (count_2 (disk s)); try tauto; lia. }
  assert (E : firstn (told s) (rows (disk s)) = firstn (told s) (firstn kept (rows (disk s)))).
  { rewrite firstn_firstn. f_equal. lia. }
  rewrite E in P.
  assert (F : Forall (fun r => within zero (cost r)) (firstn kept (rows (disk s)))).
  { rewrite <- (firstn_skipn kept (rows (disk s))) in N. apply Forall_app in N. apply N. }
  pose proof (spent_firstn_le _ (told s) F). unfold within in *. split; lra.
Qed.

(** The machine does let charges through: the whole budget can be spent. *)
Theorem a_charge_gets_through : forall whole, within zero whole ->
  exists s, reachable whole s /\ released s = plus zero whole.
Proof.
  intros whole W. set (r := Row whole whole).
  exists (State (File [r] (Some 1%nat) (Some 0%nat)) None (plus zero whole) 1%nat). split; [|reflexivity].
  eapply Stepped; [eapply Stepped; [eapply Stepped; [eapply Stepped; [eapply Stepped;
    [apply Created; exact W|]|]|]|]|].
  - apply Open. unfold readable. simpl. lia.
  - apply Allow with (r := r); [reflexivity|].
    unfold allowed, within, plus in *; simpl in *. repeat split; lra.
  - apply Write.
  - apply Count.
  - apply (Tell whole (File [r] (Some 1%nat) (Some 0%nat)) r zero 0%nat).
Qed.
