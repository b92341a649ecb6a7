/**
 * Builds the package `@postrider/client` as its users install it: JavaScript and declarations that
 * need no other package, with a package.json of their own, into packages/client/dist.
 *
 * In this repository the client is imported as TypeScript, without a build; so the workspace's
 * package.json names the source and the built one the output. The types of the contract, which
 * are made from schemas, are printed into `contract.d.ts`; the client is then compiled against
 * that file alone, so a type that it lacks fails the build.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import ts from 'typescript'
import { printTypes } from './print-types.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const clientDir = join(root, 'packages/client')
const contract = '@postrider/contract'

/** Replaces what `outDir` holds. */
export function buildClient(outDir: string): void {
  rmSync(outDir, { recursive: true, force: true })
  mkdirSync(outDir, { recursive: true })
  const contractTypes = join(outDir, 'contract.d.ts')
  writeFileSync(contractTypes, printContract())
  compile(outDir, contractTypes)
  writeFileSync(join(outDir, 'package.json'), packageJson())
  copyFileSync(join(clientDir, 'README.md'), join(outDir, 'README.md'))
  copyFileSync(join(root, 'LICENSE'), join(outDir, 'LICENSE'))
}

/** The types of the contract that the client's files import, and no others. */
function printContract(): string {
  const program = createProgram({ noEmit: true })
  const module = program.getSourceFile(join(root, 'packages/contract/src/index.ts'))
  if (!module) throw new Error(`The client imports nothing of ${contract}`)
  const names = new Set(program.getSourceFiles().filter(isOfClient).flatMap(namesOfContract))
  return printTypes({ checker: program.getTypeChecker(), module, names: [...names].sort() })
}

function namesOfContract(file: ts.SourceFile): string[] {
  return file.statements.flatMap((statement) => {
    const isImport = ts.isImportDeclaration(statement)
    if (!isImport && !ts.isExportDeclaration(statement)) return []
    const { moduleSpecifier } = statement
    // The index hands on whatever is printed.
    if (!isImport && statement.exportClause === undefined && statement.isTypeOnly) return []
    if (!moduleSpecifier || !ts.isStringLiteral(moduleSpecifier)) return []
    if (moduleSpecifier.text !== contract) return []
    const named = isImport ? statement.importClause?.namedBindings : statement.exportClause
    if (!named || !(ts.isNamedImports(named) || ts.isNamedExports(named))) {
      throw new Error(`${file.fileName}: ${contract} must be imported name by name`)
    }
    return named.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
  })
}

function compile(outDir: string, contractTypes: string): void {
  const program = createProgram({
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    rootDir: join(clientDir, 'src'),
    outDir,
    paths: { [contract]: [contractTypes] },
    noEmitOnError: true,
  })
  const { diagnostics } = program.emit(undefined, (path, text) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, path.endsWith('.d.ts') ? pointAtOutput(path, text, contractTypes) : text)
  })
  const all = [...ts.getPreEmitDiagnostics(program), ...diagnostics]
  refuse(ts.sortAndDeduplicateDiagnostics(all))
}

/**
 * The compiler rewrites the imports of JavaScript only. `contract.js`, which declarations name, is
 * a module of types alone: no JavaScript imports it, so there is none.
 */
function pointAtOutput(path: string, text: string, contractTypes: string): string {
  const toContract = relative(dirname(path), contractTypes).replaceAll('\\', '/')
  const specifier = toContract.startsWith('.') ? toContract : `./${toContract}`
  return text
    .replaceAll(`'${contract}'`, `'${specifier.replace(/\.d\.ts$/, '.js')}'`)
    .replaceAll(/(?<=(?:from |import\()'\.[^']*)\.ts(?=')/g, '.js')
}

function createProgram(options: ts.CompilerOptions): ts.Program {
  const configFile = join(root, 'tsconfig.json')
  const { config, error } = ts.readConfigFile(configFile, ts.sys.readFile)
  if (error) refuse([error])
  const { compilerOptions } = config
  // Node.js 20 and browsers of its time: newer syntax is lowered, newer library calls are refused.
  const target = { target: 'es2022', lib: ['es2022'] }
  const files = Object.values(readPackageJson().exports).map((path) => join(clientDir, path))
  const parsed = ts.parseJsonConfigFileContent(
    { compilerOptions: { ...compilerOptions, ...target }, files },
    ts.sys,
    root,
  )
  refuse(parsed.errors)
  return ts.createProgram(parsed.fileNames, { ...parsed.options, ...options })
}

/** What a program gets by each entry point: its files, and the octets of their JavaScript. */
export function measureClient(builtDir: string) {
  const { exports } = JSON.parse(readFileSync(join(builtDir, 'package.json'), 'utf8'))
  return Object.entries<{ default: string }>(exports).map(([entry, { default: file }]) => {
    const files = [...closureOf(join(builtDir, file))]
    const code = files.map((path) => readFileSync(path))
    return {
      entry,
      files: files.map((path) => relative(builtDir, path)).sort(),
      bytes: Buffer.concat(code).length,
      gzipBytes: gzipSync(Buffer.concat(code)).length,
    }
  })
}

function closureOf(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles) {
    closureOf(join(dirname(file), fileName), seen)
  }
  return seen
}

function isOfClient(file: ts.SourceFile): boolean {
  return !relative(clientDir, file.fileName).startsWith('..')
}

interface PackageJson extends Record<string, unknown> {
  /** Of the source, by entry point: `./webhooks` is `./src/webhooks/index.ts`. */
  readonly exports: Readonly<Record<string, string>>
}

function readPackageJson(): PackageJson {
  return JSON.parse(readFileSync(join(clientDir, 'package.json'), 'utf8'))
}

function packageJson(): string {
  const { name, version, description, license, type, exports } = readPackageJson()
  const built = {
    ...{ name, version, description, license, type },
    exports: Object.fromEntries(
      Object.entries(exports).map(([entry, source]) => {
        const output = source.replace('./src/', './').replace(/\.ts$/, '')
        return [entry, { types: `${output}.d.ts`, default: `${output}.js` }]
      }),
    ),
    files: ['**/*.js', '**/*.d.ts'],
    sideEffects: false,
    engines: { node: '>=20' },
  }
  return `${JSON.stringify(built, undefined, 2)}\n`
}

function refuse(diagnostics: readonly ts.Diagnostic[]): void {
  if (diagnostics.length === 0) return
  throw new Error(
    ts.formatDiagnostics(diagnostics, {
      getCurrentDirectory: () => root,
      getCanonicalFileName: (name) => name,
      getNewLine: () => '\n',
    }),
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  buildClient(join(clientDir, 'dist'))
  for (const { entry, files, bytes, gzipBytes } of measureClient(join(clientDir, 'dist'))) {
    console.log(`${entry}: ${files.length} files, ${bytes} bytes, ${gzipBytes} with gzip`)
  }
  console.log('Built packages/client/dist. To pack it: npm pack ./packages/client/dist')
}
