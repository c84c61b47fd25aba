(** Normal variables from two uniform ones, as Box and Muller have them (`numerics.drawing.normals`). The calculus is
    proved; that integrals may change their variables, a theorem of measure theory, is a hypothesis in the open. *)

From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

Definition normal_length (u : R) : R := sqrt (-2 * ln u).
Definition first_normal (u v : R) : R := normal_length u * cos (2 * PI * v).
Definition second_normal (u v : R) : R := normal_length u * sin (2 * PI * v).
Definition normal_density (x : R) : R := exp (- (x * x / 2)) / sqrt (2 * PI).

Lemma length_square : forall u, 0 < u < 1 -> 0 < normal_length u /\ normal_length u * normal_length u = -2 * ln u.
Proof.
  intros u U. assert (L : 0 < -2 * ln u) by (assert (ln u < 0) by (rewrite <- ln_1; apply ln_increasing; lra); lra).
  split; [apply sqrt_lt_R0, L|apply sqrt_sqrt; lra].
Qed.

(** How the two change with the two uniform numbers. *)
Theorem normals_change : forall u v, 0 < u < 1 ->
  is_derive (fun s => first_normal s v) u (- cos (2 * PI * v) / (u * normal_length u)) /\
  is_derive (fun s => second_normal s v) u (- sin (2 * PI * v) / (u * normal_length u)) /\
  is_derive (first_normal u) v (- (2 * PI * normal_length u * sin (2 * PI * v))) /\
  is_derive (second_normal u) v (2 * PI * normal_length u * cos (2 * PI * v)).
Proof.
  intros u v U. destruct (length_square u U) as [P S].
  assert (D : is_derive normal_length u (- / (u * normal_length u))).
  { unfold normal_length in *. auto_derive; [split; [lra|split; [|exact I]]|field; split; lra].
    apply Rnot_le_lt. intros N. rewrite sqrt_neg_0 in P by exact N. lra. }
  unfold first_normal, second_normal. split; [|split; [|split]].
  - replace (- cos (2 * PI * v) / (u * normal_length u)) with (- / (u * normal_length u) * cos (2 * PI * v) + normal_length u * 0)
      by (field; lra).
    apply (is_derive_mult normal_length (fun _ => cos (2 * PI * v)) u _ 0 D (is_derive_const _ u) Rmult_comm).
  - replace (- sin (2 * PI * v) / (u * normal_length u)) with (- / (u * normal_length u) * sin (2 * PI * v) + normal_length u * 0)
      by (field; lra).
    apply (is_derive_mult normal_length (fun _ => sin (2 * PI * v)) u _ 0 D (is_derive_const _ u) Rmult_comm).
  - auto_derive; [trivial|ring].
  - auto_derive; [trivial|ring].
Qed.

(** The determinant of these four, in size. *)
Definition stretch (u v : R) : R := Rabs
  (- cos (2 * PI * v) / (u * normal_length u) * (2 * PI * normal_length u * cos (2 * PI * v))
   - - (2 * PI * normal_length u * sin (2 * PI * v)) * (- sin (2 * PI * v) / (u * normal_length u))).

Theorem normals_fill : forall u v, 0 < u < 1 ->
  normal_density (first_normal u v) * normal_density (second_normal u v) * stretch u v = 1.
Proof.
  intros u v U. destruct (length_square u U) as [P S]. pose proof PI_RGT_0 as Pi.
  set (c := cos (2 * PI * v)) in *. set (s := sin (2 * PI * v)) in *. set (l := normal_length u) in *.
  assert (One : c * c + s * s = 1).
  { pose proof (sin2_cos2 (2 * PI * v)) as E. unfold Rsqr in E. fold c s in E. lra. }
  assert (J : stretch u v = 2 * PI / u).
  { unfold stretch. fold c s l.
    replace (- c / (u * l) * (2 * PI * l * c) - - (2 * PI * l * s) * (- s / (u * l)))
      with (- (2 * PI / u * (c * c + s * s))) by (field; lra).
    rewrite One, Rmult_1_r, Rabs_Ropp. apply Rabs_right. left. apply Rdiv_lt_0_compat; lra. }
  rewrite J. unfold normal_density, first_normal, second_normal. fold c s l.
  assert (E : exp (- (l * c * (l * c) / 2)) * exp (- (l * s * (l * s) / 2)) = u).
  { rewrite <- exp_plus. replace (- (l * c * (l * c) / 2) + - (l * s * (l * s) / 2)) with (- (l * l * (c * c + s * s) / 2)) by field.
    rewrite One, S. replace (- (-2 * ln u * 1 / 2)) with (ln u) by field. apply exp_ln. lra. }
  assert (Q : sqrt (2 * PI) * sqrt (2 * PI) = 2 * PI) by (apply sqrt_sqrt; lra).
  assert (Q0 : 0 < sqrt (2 * PI)) by (apply sqrt_lt_R0; lra).
  set (a := exp (- (l * c * (l * c) / 2))) in *. set (b := exp (- (l * s * (l * s) / 2))) in *. set (q := sqrt (2 * PI)) in *.
  replace (a / q * (b / q) * (2 * PI / u)) with (a * b / (q * q) * (2 * PI / u)) by (field; lra).
  rewrite E, Q. field. lra.
Qed.

Section Integrals.

(** Over the unit square, and over the plane. *)
Variable square plane : (R -> R -> R) -> R.
Hypothesis inside : forall f g, (forall u v, 0 < u < 1 -> f u v = g u v) -> square f = square g.
Hypothesis change_of_variables : forall f,
  square (fun u v => f (first_normal u v) (second_normal u v) * stretch u v) = plane f.

(** Whatever is asked of the two, they are independent and normal. *)
Theorem normals_are_normal : forall g,
  square (fun u v => g (first_normal u v) (second_normal u v))
  = plane (fun x y => g x y * (normal_density x * normal_density y)).
Proof.
  intros g. rewrite <- change_of_variables. apply inside. intros u v U.
  rewrite Rmult_assoc, normals_fill by exact U. ring.
Qed.

End Integrals.
