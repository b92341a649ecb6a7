/**
 * Prints types as the compiler knows them: every alias, generic and schema resolved, so that the
 * text stands alone. Not `checker.typeToString`, which keeps the names of nested aliases and with
 * them the need for the package that declares them.
 *
 * For what JSON can hold: any other kind of type is refused by name, never printed as `any`.
 */
import ts from 'typescript'

export interface PrintInput {
  readonly checker: ts.TypeChecker
  readonly module: ts.SourceFile
  readonly names: readonly string[]
}

/** One `export type` for each name that the module exports. */
export function printTypes({ checker, module, names }: PrintInput): string {
  const symbol = checker.getSymbolAtLocation(module)
  const exported = new Map(
    (symbol ? checker.getExportsOfModule(symbol) : []).map((entry) => [entry.name, entry]),
  )
  const declarations = names.map((name) => {
    const entry = exported.get(name)
    if (!entry) throw new Error(`${module.fileName} exports no ${name}`)
    const type = checker.getDeclaredTypeOfSymbol(resolveAlias(checker, entry))
    return `export type ${name} = ${print({ checker, module, path: name }, type, '')}\n`
  })
  return declarations.join('\n')
}

interface Context {
  readonly checker: ts.TypeChecker
  readonly module: ts.SourceFile
  /** Where in the named type, for errors. */
  readonly path: string
}

const plainFlags =
  ts.TypeFlags.String |
  ts.TypeFlags.Number |
  ts.TypeFlags.Boolean |
  ts.TypeFlags.Null |
  ts.TypeFlags.Unknown |
  ts.TypeFlags.StringLiteral |
  ts.TypeFlags.NumberLiteral |
  ts.TypeFlags.BooleanLiteral

function print(context: Context, type: ts.Type, indent: string): string {
  const { checker, path } = context
  if (type.flags & plainFlags) return plain(type, checker)
  if (type.isUnion()) return printUnion(context, type.types, indent)
  if (checker.isArrayType(type)) return printArray(context, type, indent)
  const isObject = (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0
  const calls = [...type.getCallSignatures(), ...type.getConstructSignatures()]
  if (isObject && calls.length === 0 && !checker.isTupleType(type)) {
    return printObject(context, type, indent)
  }
  throw new Error(`${path}: ${checker.typeToString(type)} cannot be printed`)
}

function plain(type: ts.Type, checker: ts.TypeChecker): string {
  return type.isStringLiteral() ? quote(type.value) : checker.typeToString(type)
}

/** The compiler holds `boolean` as `false | true` as soon as it stands beside something else. */
function printUnion(context: Context, types: readonly ts.Type[], indent: string): string {
  const { checker } = context
  const isLiteral = (type: ts.Type) => (type.flags & ts.TypeFlags.BooleanLiteral) !== 0
  const literals = types.filter(isLiteral)
  const members =
    literals.length === 2
      ? [checker.getBooleanType(), ...types.filter((type) => !isLiteral(type))]
      : types
  return members.map((type) => print(context, type, indent)).join(' | ')
}

function printArray(context: Context, type: ts.Type, indent: string): string {
  const { checker, path } = context
  const [element] = checker.getTypeArguments(type as ts.TypeReference)
  if (!element) throw new Error(`${path}: an array without a type of its elements`)
  const name = type.symbol.name === 'ReadonlyArray' ? 'ReadonlyArray' : 'Array'
  return `${name}<${print({ ...context, path: `${path}[]` }, element, indent)}>`
}

function printObject(context: Context, type: ts.Type, indent: string): string {
  const { checker } = context
  const inner = `${indent}  `
  const lines = [
    ...checker.getIndexInfosOfType(type).map((info) => {
      const key = print(context, info.keyType, inner)
      return `[key: ${key}]: ${print({ ...context, path: `${context.path}[key]` }, info.type, inner)}`
    }),
    ...checker.getPropertiesOfType(type).map((property) => printProperty(context, property, inner)),
  ]
  // Said to have nothing, not forgotten.
  if (lines.length === 0 && type.aliasSymbol?.name === 'Record') return 'Record<never, never>'
  if (lines.length === 0) throw new Error(`${context.path}: an object of which nothing is known`)
  return `{\n${lines.map((line) => `${inner}${line}\n`).join('')}${indent}}`
}

function printProperty(context: Context, property: ts.Symbol, indent: string): string {
  const { checker, module } = context
  const path = `${context.path}.${property.name}`
  const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0
  const declared = checker.getTypeOfSymbolAtLocation(property, module)
  const types = declared.isUnion() ? declared.types : [declared]
  // `?` says that it may be missing.
  const isSaid = (type: ts.Type) => isOptional && (type.flags & ts.TypeFlags.Undefined) !== 0
  const isReadonly = property
    .getDeclarations()
    ?.some((node) => ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Readonly)
  const name = /^[A-Za-z_$][\w$]*$/.test(property.name) ? property.name : quote(property.name)
  const present = types.filter((type) => !isSaid(type))
  const text = printUnion({ ...context, path }, present, indent)
  return `${isReadonly ? 'readonly ' : ''}${name}${isOptional ? '?' : ''}: ${text}`
}

function resolveAlias(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

function quote(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}
