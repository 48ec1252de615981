// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Virtual functions that a loop calls by their base, and one that nobody in sight calls.
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual double area(int n) const = 0;
  virtual void rename(int n) = 0;
};
double sumOf(const std::vector<double> &V);

struct Polygon final : Shape {
  double area(int n) const override {
    std::vector<double> Sides(n); // want: loop-allocation
    return sumOf(Sides);
  }
  void rename(int n) override {
    std::vector<double> Names(n);
    Last = sumOf(Names);
  }
  double Last = 0;
};

double areaOfAll(const std::vector<Shape *> &All) {
  double Sum = 0;
  for (const Shape *Each : All)
    Sum += Each->area(8);
  return Sum;
}

Shape *make() { return new Polygon; }

struct Codec {
  double encode(int n);
  double describe(int n);
};
double Codec::encode(int n) {
  std::vector<double> Block(n); // want: loop-allocation
  return sumOf(Block);
}
double Codec::describe(int n) {
  std::vector<double> Block(n);
  return sumOf(Block);
}

struct Table {
  Table(int n);
  double Sum;
};
Table::Table(int n) {
  std::vector<double> Rows(n); // want: loop-allocation
  Sum = sumOf(Rows);
}
double tables(int n) {
  double Sum = 0;
  for (int I = 0; I < n; I++)
    Sum += Table(I).Sum;
  return Sum;
}
