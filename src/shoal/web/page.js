// What pages do in the browser beyond NiceGUI: send files piece by piece, and move things with the mouse.

window.shoal = {
  // A drop zone made by layout.drop_zone: sends each chosen file with PUT, then tells the page.
  send: async function (zone, files) {
    const said = zone.querySelector(".sh-drop-said");
    const bar = zone.querySelector("progress");
    const input = zone.querySelector("input");
    input.disabled = true;
    said.classList.remove("sh-drop-error");
    for (const file of files) {
      bar.hidden = false;
      bar.value = 0;
      if (file.size > Number(zone.dataset.limit)) {
        const most = Math.floor(Number(zone.dataset.limit) / 1048576).toLocaleString("en");
        said.textContent = file.name + " is too large: at most " + most + " MB are taken. Name the file when starting " +
          "shoal instead: shoal serve FILE has no such limit.";
        said.classList.add("sh-drop-error");
        break;
      }
      said.textContent = "Sending " + file.name;
      const answer = await window.shoal.put(zone.dataset.address + encodeURIComponent(file.name), file, (share) => {
        bar.value = share;
      });
      if (!answer.ok) {
        said.textContent = answer.message;
        said.classList.add("sh-drop-error");
        break;
      }
      said.textContent = "Received " + file.name;
      zone.dispatchEvent(new CustomEvent("received", { detail: answer.told }));
    }
    bar.hidden = true;
    input.value = "";
    input.disabled = false;
  },

  put: function (address, file, onShare) {
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      request.upload.onprogress = (event) => event.lengthComputable && onShare(event.loaded / event.total);
      request.onerror = () =>
        resolve({ ok: false, message: "The file was not taken: it is too large, or shoal has ended." });
      request.onload = () => {
        let told = {};
        try {
          told = JSON.parse(request.responseText);
        } catch {
          const page = new DOMParser().parseFromString(request.responseText, "text/html");
          const words = [page.querySelector("h1"), page.querySelector("h1 + p")].map((part) => part?.textContent ?? "");
          told = { message: words.join(". ") };
        }
        resolve({ ok: request.status === 200, told, message: told.message || "The file was not taken." });
      };
      request.open("PUT", address);
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.send(file);
    });
  },
};

document.addEventListener("change", (event) => {
  const zone = event.target.closest?.(".sh-drop");
  if (zone && event.target.type === "file") {
    const endings = event.target.accept.split(",");
    const isTaken = (file) => endings.some((ending) => file.name.toLowerCase().endsWith(ending));
    const files = [...event.target.files]; // of a folder those that are tables, in the order of their names
    const sent = event.target.webkitdirectory ? files.filter(isTaken) : files;
    window.shoal.send(zone, sent.sort((one, other) => one.name.localeCompare(other.name)));
  }
});
for (const [name, isOver] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
  document.addEventListener(name, (event) => event.target.closest?.(".sh-drop")?.classList.toggle("sh-over", isOver));
}

// Categories into sets: ticked ones are moved with the buttons, dragged ones by dropping them on a set.
window.shoal.ticked = (board) => [...board.querySelectorAll("input:checked")].map((box) => box.value);

document.addEventListener("dragstart", (event) => {
  const chip = event.target.closest?.(".sh-chip");
  if (!chip) return;
  const ticked = window.shoal.ticked(chip.closest(".sh-board"));
  const places = ticked.includes(chip.dataset.place) ? ticked : [chip.dataset.place];
  event.dataTransfer.setData("application/x-shoal", JSON.stringify(places));
  event.dataTransfer.effectAllowed = "move";
});
document.addEventListener("dragover", (event) => {
  const set = event.target.closest?.(".sh-set");
  if (set && event.dataTransfer.types.includes("application/x-shoal")) {
    event.preventDefault();
    set.classList.add("sh-over");
  }
});
document.addEventListener("dragleave", (event) => event.target.closest?.(".sh-set")?.classList.remove("sh-over"));
document.addEventListener("drop", (event) => {
  const set = event.target.closest?.(".sh-set");
  const data = event.dataTransfer?.getData("application/x-shoal");
  if (!set || !data) return;
  event.preventDefault();
  const detail = { values: JSON.parse(data), to: set.dataset.set };
  set.closest(".sh-board").dispatchEvent(new CustomEvent("moved", { detail }));
});
