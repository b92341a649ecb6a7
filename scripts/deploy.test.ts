/** What operators take as it is: alert rules and dashboards name what there is, and each rule is tested. */
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { anchorsOf, isThere, read } from './project-files.ts'

interface Rule {
  readonly alert: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<string, string>>
}

interface RuleTest {
  readonly name: string
  readonly promql_expr_test: readonly { readonly expr: string; readonly exp_samples: unknown[] }[]
}

const { groups } = parse(read('deploy/prometheus/alerts.yaml')) as {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[]
}
const rules = groups.flatMap((group) => group.rules)

function isBroken(link: string): boolean {
  const [file = '', anchor] = link.split('#')
  return !isThere(file) || (anchor !== undefined && !anchorsOf(read(file)).has(anchor))
}

it('each alert says what happens, what to do, how urgent it is, and which page helps', () => {
  expect(rules.length).toBeGreaterThan(30)
  for (const { alert, labels, annotations } of rules) {
    expect(alert).toMatch(/^Postrider[A-Z]\w+$/)
    expect(['page', 'ticket'], alert).toContain(labels.severity)
    expect(Object.keys(annotations), alert).toEqual(['summary', 'description', 'runbook'])
    for (const text of Object.values(annotations)) expect(text.trim(), alert).not.toBe('')
  }
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
})

it('the page of each alert exists, with its heading', () => {
  const broken = rules.filter(({ annotations }) => isBroken(annotations.runbook ?? ''))
  expect(broken.map(({ annotations }) => annotations.runbook)).toEqual([])
  expect(isBroken('docs/operations/troubleshoot.md#mail-is-early')).toBe(true)
  expect(isBroken('docs/operations/troubles.md')).toBe(true)
})

it('each alert has a test in which it fires and one in which it is quiet', () => {
  const { tests } = parse(read('deploy/prometheus/alerts.test.yaml')) as {
    readonly tests: readonly RuleTest[]
  }
  const names = rules.flatMap(({ alert }) => [`${alert} fires`, `${alert} is quiet`])
  expect(tests.map(({ name }) => name).sort()).toEqual(names.sort())
  for (const { name, promql_expr_test: checks } of tests) {
    const alert = name.split(' ')[0] ?? ''
    expect(checks.map(({ expr }) => expr)).toEqual([
      `count(ALERTS{alertname="${alert}", alertstate="firing"})`,
    ])
    expect(checks[0]?.exp_samples.length, name).toBe(name.endsWith(' fires') ? 1 : 0)
  }
})

it('the documentation names each group of alerts', () => {
  const page = read('docs/operations/monitor.md')
  for (const { name } of groups) expect(page).toContain(`| \`${name}\` |`)
})

it('the dashboard takes its data source from a variable', () => {
  const text = read('deploy/grafana/postrider.json')
  const sources = [...text.matchAll(/"uid": "([^"]*)"/g)].map(([, uid]) => uid)
  // Its own name, and the variable.
  expect(new Set(sources)).toEqual(new Set(['postrider', '$' + '{datasource}']))
  expect(text).not.toContain('__inputs')
})
