/** Cells of tables that show less than they hold. */
import type { Page } from 'playwright-core'

/** What is for screen readers alone is clipped on purpose; a heading without room lies over its neighbour. */
const FUNCTIONS = `
  const isCut = (one) => {
    const { overflow, clipPath } = getComputedStyle(one)
    if (clipPath !== 'none' || (overflow === 'visible' && one.role !== 'columnheader')) return false
    return one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1
  }
  const cutIn = (cell) => [cell, ...cell.querySelectorAll('*')].filter(isCut)
  const wordsOf = (text) => text.replace(/\\s+/g, ' ').trim()
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`

/** Those that tell the whole neither at once nor under the pointer. */
export async function findCutCells(page: Page): Promise<string[]> {
  return await page.evaluate(`(async () => {
    ${FUNCTIONS}
    await drawn()
    return [...document.querySelectorAll('[role=cell], [role=columnheader]')]
      .flatMap(cutIn)
      .filter((one) => {
        one.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))
        const told = one.closest('[title]:not([title=""])')?.title ?? ''
        return !wordsOf(told).includes(wordsOf(one.innerText))
      })
      .map((one) => wordsOf(one.innerText))
  })()`)
}

/** Of the row that the keys have chosen. */
export async function findCutInCurrentRow(page: Page): Promise<string[]> {
  return await page.evaluate(`(async () => {
    ${FUNCTIONS}
    await drawn()
    return [...document.querySelectorAll('[role=row][data-current] [role=cell]')]
      .flatMap(cutIn)
      .map((one) => wordsOf(one.innerText))
  })()`)
}
