/**
 * Builds the package `@postrider/client` as its users install it, for `import` and for `require`:
 * JavaScript and declarations that need no other package, with a package.json of their own, into
 * packages/client/dist.
 *
 * In this repository the client is imported as TypeScript, without a build; so the workspace's
 * package.json names the source and the built one the output. The types of the contract are printed
 * from the OpenAPI description into `contract.d.ts`; the client is then compiled against that file
 * alone, so a type that it lacks fails the build. The comments of operations come from there, too.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import ts from 'typescript'
import { packageFacts } from './package-facts.ts'
import { commentsOf, type OpenApi, printComment, printContract } from './print-contract.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const clientDir = join(root, 'packages/client')
const contract = '@postrider/contract'

/** Both kinds of module, each in a folder that says which it is. */
const kinds = {
  esm: { module: ts.ModuleKind.NodeNext },
  cjs: {
    module: ts.ModuleKind.CommonJS,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    verbatimModuleSyntax: false,
  },
} as const satisfies Record<string, ts.CompilerOptions>

/** Replaces what `outDir` holds. */
export function buildClient(outDir: string): void {
  rmSync(outDir, { recursive: true, force: true })
  const document: OpenApi = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'))
  const types = printContract(document)
  for (const [kind, options] of Object.entries(kinds)) {
    const kindDir = join(outDir, kind)
    mkdirSync(kindDir, { recursive: true })
    writeFileSync(join(kindDir, 'contract.d.ts'), types)
    compile(kindDir, options, commentsOf(document))
  }
  writeFileSync(join(outDir, 'cjs/package.json'), `${JSON.stringify({ type: 'commonjs' })}\n`)
  writeFileSync(join(outDir, 'package.json'), packageJson())
  copyFileSync(join(clientDir, 'README.md'), join(outDir, 'README.md'))
  copyFileSync(join(root, 'LICENSE'), join(outDir, 'LICENSE'))
}

type Comments = ReturnType<typeof commentsOf>

function compile(outDir: string, kind: ts.CompilerOptions, comments: Comments): void {
  const contractTypes = join(outDir, 'contract.d.ts')
  const program = createProgram({
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    rootDir: join(clientDir, 'src'),
    outDir,
    paths: { [contract]: [contractTypes] },
    noEmitOnError: true,
    ...kind,
  })
  const { diagnostics } = program.emit(undefined, (path, text) => {
    mkdirSync(dirname(path), { recursive: true })
    const isTypes = path.endsWith('.d.ts')
    const pointed = isTypes ? pointAtOutput(path, text, contractTypes) : text
    const isClient = basename(path) === 'postrider.d.ts'
    writeFileSync(path, isClient ? commentMethods(pointed, comments) : pointed)
  })
  const all = [...ts.getPreEmitDiagnostics(program), ...diagnostics]
  refuse(ts.sortAndDeduplicateDiagnostics(all))
}

/** Puts what the description says of an operation in front of what the client says. */
function commentMethods(text: string, comments: Comments): string {
  const file = ts.createSourceFile('postrider.d.ts', text, ts.ScriptTarget.Latest, true)
  const methods = file.statements
    .filter(ts.isClassDeclaration)
    .flatMap(({ members }) => members.filter(ts.isMethodDeclaration))
  return methods.reduceRight((before, method) => {
    const name = method.name.getText()
    const comment = comments.get(name)
    if (comment === undefined) throw new Error(`The description has no operation ${name}`)
    const start = method.getStart(file, true)
    const end = method.getStart(file)
    const own = before
      .slice(start, end)
      .replaceAll(/^\s*\/?\*+\/?|\*\/\s*$/gm, '')
      .replaceAll(/\s*\n\s*/g, ' ')
      .trim()
    const indent = ' '.repeat(4)
    const printed = printComment(comment(own), indent).trimStart()
    return `${before.slice(0, start)}${printed}${indent}${before.slice(end)}`
  }, text)
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

/** What a program gets by each entry point: its files, and the octets of one minified file of them. */
export async function measureClient(builtDir: string) {
  const { exports } = JSON.parse(readFileSync(join(builtDir, 'package.json'), 'utf8'))
  const entries = Object.entries<{ import?: { default: string } }>(exports)
  const measured = entries.map(async ([entry, target]) => {
    if (target.import === undefined) return []
    const input = join(builtDir, target.import.default)
    const bundle = await rolldown({ input, platform: 'browser' })
    const { output } = await bundle.generate({ format: 'esm', minify: true })
    await bundle.close()
    const code = output.map((one) => (one.type === 'chunk' ? one.code : '')).join('')
    const files = [...closureOf(input)].map((path) => relative(join(builtDir, 'esm'), path)).sort()
    return [{ entry, files, bytes: Buffer.byteLength(code), gzipBytes: gzipSync(code).length }]
  })
  return (await Promise.all(measured)).flat()
}

function closureOf(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles) {
    closureOf(join(dirname(file), fileName), seen)
  }
  return seen
}

interface PackageJson extends Record<string, unknown> {
  /** Of the source, by entry point: `./webhooks` is `./src/webhooks/index.ts`. */
  readonly exports: Readonly<Record<string, string>>
}

function readPackageJson(): PackageJson {
  return JSON.parse(readFileSync(join(clientDir, 'package.json'), 'utf8'))
}

function packageJson(): string {
  const { type, exports } = readPackageJson()
  const targets = Object.entries(exports).map(([entry, source]) => {
    const file = (kind: string) => source.replace('./src/', `./${kind}/`).replace(/\.ts$/, '')
    const target = (kind: string) => ({ types: `${file(kind)}.d.ts`, default: `${file(kind)}.js` })
    return [entry, { import: target('esm'), require: target('cjs') }]
  })
  const built = {
    ...packageFacts('packages/client'),
    type,
    // For tools that do not read `exports`.
    ...{ main: './cjs/index.js', types: './cjs/index.d.ts' },
    exports: { ...Object.fromEntries(targets), './package.json': './package.json' },
    files: ['esm', 'cjs'],
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
  for (const { entry, files, bytes, gzipBytes } of await measureClient(join(clientDir, 'dist'))) {
    console.log(`${entry}: ${files.length} files, ${bytes} bytes, ${gzipBytes} with gzip`)
  }
  console.log('Built packages/client/dist. To pack it: npm pack ./packages/client/dist')
}
