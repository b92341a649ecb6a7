/**
 * Builds the published package `@postrider/testkit`: JavaScript and declarations of what users need of
 * packages/testkit, which is TypeScript in this repository. It needs no other package.
 */
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { packageFacts } from '../../scripts/package-facts.ts'
import { root, toJson } from './project.ts'

const folder = join(root, 'packages/testkit')
const entries = ['published.ts', 'sink-main.ts'].map((name) => join(folder, 'src', name))

/** Replaces what `outDir` holds. */
export function buildTestkit(outDir: string): void {
  rmSync(outDir, { recursive: true, force: true })
  compile(join(outDir, 'lib'))
  const sink = 'bin/postrider-sink.js'
  mkdirSync(join(outDir, 'bin'))
  writeFileSync(join(outDir, sink), "#!/usr/bin/env node\nimport '../lib/sink-main.js'\n")
  chmodSync(join(outDir, sink), 0o755)
  copyFileSync(join(folder, 'README.md'), join(outDir, 'README.md'))
  copyFileSync(join(root, 'LICENSE'), join(outDir, 'LICENSE'))
  const manifest = {
    ...packageFacts('packages/testkit'),
    type: 'module',
    bin: { 'postrider-sink': `./${sink}` },
    exports: {
      '.': { types: './lib/published.d.ts', default: './lib/published.js' },
      './package.json': './package.json',
    },
    files: ['bin', 'lib'],
    engines: { node: '>=22.19.0' },
  }
  writeFileSync(join(outDir, 'package.json'), toJson(manifest))
}

function compile(outDir: string): void {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
  const program = ts.createProgram(entries, {
    ...options,
    ...{ noEmit: false, declaration: true, rewriteRelativeImportExtensions: true },
    ...{ rootDir: join(folder, 'src'), outDir, noEmitOnError: true, removeComments: false },
  })
  const { diagnostics } = program.emit(undefined, (path, text) => {
    mkdirSync(dirname(path), { recursive: true })
    // The compiler rewrites the imports of JavaScript only.
    const isTypes = path.endsWith('.d.ts')
    writeFileSync(path, isTypes ? text.replaceAll(/(?<=from '\.[^']*)\.ts(?=')/g, '.js') : text)
  })
  const all = [...ts.getPreEmitDiagnostics(program), ...diagnostics]
  if (all.length === 0) return
  throw new Error(
    ts.formatDiagnostics(all, {
      getCurrentDirectory: () => root,
      getCanonicalFileName: (name) => name,
      getNewLine: () => '\n',
    }),
  )
}
