// Shows the findings that match the filter. Without JavaScript all are shown.
const text = document.getElementById("text");
const check = document.getElementById("check");
const shown = document.getElementById("shown");
const all = [...document.querySelectorAll("details.finding")];
function apply() {
  const words = text.value.toLowerCase();
  let count = 0;
  for (const one of all) {
    const fits = (!check.value || one.dataset.check === check.value) &&
      one.firstElementChild.textContent.toLowerCase().includes(words);
    one.hidden = !fits;
    count += fits;
  }
  shown.textContent = count === all.length ? "" : `${count} of ${all.length} shown`;
}
text.addEventListener("input", apply);
check.addEventListener("change", apply);
