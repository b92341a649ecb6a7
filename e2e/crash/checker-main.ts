/** Judges a round from its directory: `node e2e/crash/checker-main.ts <directory>`. */
import { checkHistory } from './checker.ts'
import { readHistory } from './history.ts'
import { rules } from './report.ts'

const [directory] = process.argv.slice(2)
if (directory === undefined) throw new Error('usage: node e2e/crash/checker-main.ts <directory>')
const report = checkHistory(readHistory(directory))
const lines = [
  `${report.verdict}: ${JSON.stringify(report.counts)}`,
  ...report.voidBecause.map((reason) => `  void: ${reason}`),
  ...report.violations.map(({ rule, detail }) => `  ${rule} (${rules[rule]}): ${detail}`),
]
process.stdout.write(`${lines.join('\n')}\n`)
process.exitCode = report.verdict === 'green' ? 0 : 1
