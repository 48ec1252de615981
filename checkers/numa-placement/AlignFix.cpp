//===- AlignFix.cpp - Aligns elements to cache lines ----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/AlignFix.h"

#include "checkers/common/EachNode.h"
#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {
/// Looks for expressions that depend on the size of the type Of, such as
/// sizeof.
class SizeUses : public EachNode {
public:
  SizeUses(const RecordDecl &Of, const ASTContext &Context)
      : Of(Of), Context(Context) {}

  bool Found = false;

private:
  bool visit(Stmt &S) override {
    auto *E = dyn_cast<UnaryExprOrTypeTraitExpr>(&S);
    return !E || keep(E->getTypeOfArgument());
  }
  bool visit(Decl &D) override {
    if (auto *Field = dyn_cast<FieldDecl>(&D))
      return keep(Field->getType());
    if (auto *Class = dyn_cast<CXXRecordDecl>(&D);
        Class && Class->isThisDeclarationADefinition())
      for (const CXXBaseSpecifier &Base : Class->bases())
        keep(Base.getType());
    return !Found;
  }
  /// Sets Found if T is the type Of or an array of that type. Returns true
  /// while Found is false, so that the traversal goes on.
  bool keep(QualType T) {
    T = Context.getBaseElementType(T);
    const RecordDecl *Record = T->getAsRecordDecl();
    Found |= Record && Record->getCanonicalDecl() == Of.getCanonicalDecl();
    return !Found;
  }
  const RecordDecl &Of;
  const ASTContext &Context;
};
} // namespace

/// Returns true if the memory of the array has the alignment that the type of
/// its elements requires.
static bool isAligned(const ValueDecl &Array, const UnitValues &Values,
                      const ASTContext &Context) {
  auto *Variable = dyn_cast<VarDecl>(&Array);
  if (!Variable)
    return false;
  QualType T = Variable->getType();
  if (T->isConstantArrayType())
    return true;
  auto *Class = T->getAsCXXRecordDecl();
  if (identifierOf(Class) == "array")
    return true;
  // operator new respects the alignment of a type since C++17.
  if (!Context.getLangOpts().CPlusPlus17)
    return false;
  if (auto *Vector = dyn_cast_or_null<ClassTemplateSpecializationDecl>(Class))
    return Vector->getName() == "vector" &&
           Vector->getTemplateArgs().size() == 2 &&
           Vector->getTemplateArgs()[1].getAsType().getAsString().find(
               "std::allocator<") != std::string::npos;
  UnitValues::ValueRefs Given = Values.valuesOf(Array);
  return T->isPointerType() && !Given.empty() &&
         llvm::all_of(Given, [](const GivenValue *Value) {
           return Value->Kind == GivenValue::Assigned &&
                  isa<CXXNewExpr>(stripped(Value->At.E)) &&
                  !cast<CXXNewExpr>(stripped(Value->At.E))
                       ->getNumPlacementArgs();
         });
}

/// Returns true if the first member of Record has a declaration of its own, so
/// that an added alignment applies to this member only.
static bool hasPlainFirst(const RecordDecl &Record) {
  auto Field = Record.field_begin();
  if (Field == Record.field_end() || Field->isBitField() ||
      Field->getBeginLoc().isMacroID() || Field->hasAttr<AlignedAttr>())
    return false;
  SourceLocation First = Field->getBeginLoc();
  return ++Field == Record.field_end() || Field->getBeginLoc() != First;
}

AlignFix alignFix(const ThreadElement &Element, const UnitValues &Values,
                  const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  const LangOptions &Lang = Context.getLangOpts();
  const RecordDecl *Record = Element.Element->getAsRecordDecl();
  if (!Record)
    return {{}, "the element is no structure, so its alignment is fixed"};
  Record = Record->getDefinition();
  if (!Record || !SM.isInMainFile(Record->getLocation()) ||
      Record->getInnerLocStart().isMacroID())
    return {{}, "the type of the array's elements is not defined in this file"};
  if (Record->isUnion() || Record->hasAttr<PackedAttr>() ||
      Record->hasAttr<AlignedAttr>() ||
      isa<ClassTemplateSpecializationDecl>(Record))
    return {{},
            "the type of the array's elements is a union, a template's "
            "instance, or a type with a specified layout"};
  if (Lang.CPlusPlus ? !Lang.CPlusPlus11 : !Lang.C11)
    return {{}, "alignment needs C11 or C++11"};
  if (!Lang.CPlusPlus && !hasPlainFirst(*Record))
    return {{}, "the first member of its element's type cannot be aligned"};
  if (!isAligned(*Element.Array, Values, Context))
    return {{},
            "its memory may lack the alignment of the type; allocate it with "
            "aligned_alloc"};
  SizeUses Uses(*Record, Context);
  Uses.traverse(*Context.getTranslationUnitDecl());
  if (Uses.Found)
    return {{}, "other code depends on the size of its element's type"};
  std::string Bytes = std::to_string(CacheLine);
  if (!Lang.CPlusPlus)
    return {{FixItHint::CreateInsertion((*Record->field_begin())->getBeginLoc(),
                                        "_Alignas(" + Bytes + ") ")},
            ""};
  return {
      {FixItHint::CreateInsertion(
          Lexer::getLocForEndOfToken(Record->getInnerLocStart(), 0, SM, Lang),
          " alignas(" + Bytes + ")")},
      ""};
}

} // namespace vfriendly::tidy
