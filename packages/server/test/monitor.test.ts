/** docs/operations/monitor.md against the code: every metric, and no other. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createMetrics } from '../src/platform/metrics.ts'

const source = new URL('../src/', import.meta.url)
const embedded = new URL('../../embedded-postgres/src/', import.meta.url)
const page = readFileSync(new URL('../../../docs/operations/monitor.md', import.meta.url), 'utf8')

function readAll(folder: URL): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(new URL(path, folder), 'utf8'))
}

function metricsOfCode(): string[] {
  const names = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .flatMap((path) => [
      ...readFileSync(new URL(path, source), 'utf8').matchAll(
        /\bmetrics\.(?:counter|counterOf|gauge|gaugeOf|gaugeRead|histogram)\(\s*'([a-z_]+)'/g,
      ),
    ])
    .map((match) => `postrider_${match[1]}`)
  return [...new Set(names)].sort()
}

it('has a row for each metric', () => {
  const rows = [...page.matchAll(/^\| `(postrider_[a-z_]+)` \|/gm)].map((match) => match[1])
  expect(metricsOfCode().length).toBeGreaterThan(10)
  expect([...rows].sort()).toEqual(metricsOfCode())
})

it('names no metric that does not exist', async () => {
  const metrics = createMetrics()
  metrics.collectProcess()
  const ofProcess = (await metrics.registry.getMetricsAsJSON()).map((metric) => metric.name)
  const known = new Set([...metricsOfCode(), ...ofProcess])
  const named = [...page.matchAll(/postrider_[a-z0-9_]+/g)].map(([name]) => name)
  const unknown = named.filter(
    (name) => name !== 'postrider_' && !known.has(name.replace(/_(count|sum|bucket)$/, '')),
  )
  expect(unknown).toEqual([])
})

it('names no log line that does not exist', () => {
  const code = [source, embedded].flatMap(readAll).join('\n')
  const lines = [...page.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].flatMap((match) => match[1] ?? [])
  expect(lines.length).toBeGreaterThan(5)
  expect(lines.filter((line) => !code.includes(`'${line}'`))).toEqual([])
})
